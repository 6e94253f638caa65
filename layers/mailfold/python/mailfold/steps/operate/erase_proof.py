"""The proof of an erasure: every text of every table that the catalogs know, searched in another way than it erases."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mailfold.erasure import ERASED_RAW, ERASED_TEXT
from mailfold.errors import CommandRefused
from mailfold.spellings import around_the_sign, domain_forms, loosely, parts_of
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.operate.erase import COUNTS, TIME_GUARD_MS, WORK_MS, address_of
from mailfold.store.reading import read
from mailfold.unescaping import decoded, folded, with_signs

#: About so much of a table is read at once; a block more may be as large again.
PAGE_BYTES = 8_000_000
#: Columns of which the texts are ids: signs tie an address to the rest of an id, and to a longer address elsewhere.
_ID_COLUMN = re.compile(r"(?:_id|_key|^key|^scope)$")
#: The columns that say whose row it is; a longer address there is somebody else.
_OWNERS = ("recipient", "address")
_ENDS_LIKE_A_DOMAIN = re.compile(r"[.][^\W\d_]{2,}\Z")
#: What ends in one of these is part of a longer local part.
_SIGN_OF_A_NAME = re.compile(r"\w[._+'-]\Z")
_SIGN_OF_A_PATH = re.compile(r"\w[._']\Z")
_REST_OF_A_DOMAIN = re.compile(r"\w*+(?:[.-]++\w++)*+")
_COMMENT = re.compile(r"\([^()@]{0,80}+\)")
_QUOTED = re.compile(r'"([^"@\s]{1,100}+)"(?=@)')


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a search goes on."""

    table: str
    block: int


class Search:
    """Finds an address in texts: undoes every escape, folds every letter, and looks for what is left."""

    def __init__(self, address: str) -> None:
        #: For Postgres, and too wide.
        self.patterns = {"near": around_the_sign(address), "pattern": loosely(address)}
        name, domain = parts_of(address)
        domains = {folded(form) for form in domain_forms(domain)}
        self._wanted = [f"{folded(name)}{sign}{host}" for sign in "@=" for host in sorted(domains)]

    def look_at(self, row: Mapping[str, Any]) -> tuple[bool, bool]:
        """Return whether a row names the address, and whether it holds a longer one with it inside."""
        inside = row["body"] if isinstance(row.get("body"), dict) else {}
        known = [one.get(name) for one in (row, inside) for name in _OWNERS]
        owners = [folded(owner) for owner in known if isinstance(owner, str)]
        raw = row.get("payload", row.get("raw"))
        # Where it is not known whose row it is, a longer address in an id may be another person's.
        is_known = bool(owners) or raw in (None, ERASED_RAW, ERASED_TEXT)
        named = similar = False
        for column, value in row.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            ids = is_known and _ID_COLUMN.search(column)
            for plain in {_plain(decoded(text)), _plain(decoded(text, printable=False))}:
                longer = [self._is_longer(plain, at, end, owners if ids else None) for at, end in self._places(plain)]
                named = named or not all(longer)
                similar = similar or any(longer)
        return named, similar and not named

    def _places(self, plain: str) -> list[tuple[int, int]]:
        found = []
        for wanted in self._wanted:
            at = plain.find(wanted)
            while at >= 0:
                found.append((at, at + len(wanted)))
                at = plain.find(wanted, at + 1)
        return found

    def _is_longer(self, plain: str, at: int, end: int, owners: list[str] | None) -> bool:
        """Tell whether what is found is part of another address; `owners` are those whose id it is."""
        if plain[at - 1 : at].isalnum() or plain[end : end + 1].isalnum() or plain[end : end + 1] == "_":
            return True
        begin, stop = _run(plain, at, end)
        is_path = "@" not in plain[at:end]
        if _ENDS_LIKE_A_DOMAIN.search(plain[end:stop]) and (is_path or plain[stop : stop + 1] != "@"):
            return True
        if owners is not None:
            return any(owner in plain[begin:stop] for owner in owners if self._holds(owner))
        before = plain[max(at - 2, 0) : at]
        sign = _SIGN_OF_A_PATH.search(before) if is_path else _SIGN_OF_A_NAME.search(before)
        return sign is not None or (at == 1 and begin == 0)

    def _holds(self, owner: str) -> bool:
        return any(wanted in owner and wanted != owner for wanted in self._wanted)


def verify(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Count the rows that name an address as far as the time allows, and change nothing."""
    address = address_of(arguments)
    with context.database.transaction() as tx:
        [[form]] = tx.run("erase_form", {"address": address})
        known = read(tx, "erase_search_tables", {})
    place: Place | None = _place(arguments.value("after"), known)
    search = Search(address)
    tables: dict[str, dict[str, int]] = {}
    enough_ms = context.remaining_ms() - WORK_MS
    while place is not None:
        place = _page(context, known, place, search, tables)
        if context.remaining_ms() <= max(enough_ms, TIME_GUARD_MS):
            break
    return {
        "erased_form": form,
        "rows": sum(table["rows"] for table in known),
        "tables": tables,
        "next": place and {"table": place.table, "after": {"block": place.block}},
    }


def _page(
    context: OperateContext,
    known: list[dict[str, Any]],
    place: Place,
    search: Search,
    tables: dict[str, dict[str, int]],
) -> Place | None:
    """Search some blocks of a table; return where the next begin, None after the last table."""
    names = [table["name"] for table in known]
    table = known[names.index(place.table)]
    until = place.block + max(1, PAGE_BYTES * table["blocks"] // max(table["bytes"], 1))
    asked: dict[str, str | int] = {"table": place.table, "first": place.block, "until": until}
    asked |= search.patterns
    with context.database.transaction() as tx:
        [[looked_at, found]] = tx.run("erase_search", asked)
    counts = tables.setdefault(place.table, dict.fromkeys(COUNTS, 0))
    counts["looked_at"] += looked_at
    for row in found:
        named, similar = search.look_at(row)
        counts["found"] += named
        counts["similar"] += similar
    if until < table["blocks"]:
        return Place(table=place.table, block=until)
    following = names[names.index(place.table) + 1 :]
    return Place(table=following[0], block=0) if following else None


def _place(after: Any, known: list[dict[str, Any]]) -> Place:
    if after is None:
        return Place(table=known[0]["name"], block=0)
    inner = after.get("after") if isinstance(after, dict) else None
    block = inner.get("block") if isinstance(inner, dict) else None
    if not isinstance(block, int) or after["table"] not in {table["name"] for table in known}:
        raise CommandRefused("after must be what the page before called next")
    return Place(table=after["table"], block=block)


def _run(plain: str, at: int, end: int) -> tuple[int, int]:
    """Return where the letters and signs around a place begin and end."""
    begin = at
    while begin and (plain[begin - 1].isalnum() or plain[begin - 1] in "._+'-"):
        begin -= 1
    ahead = _REST_OF_A_DOMAIN.match(plain, end)
    return begin, ahead.end() if ahead else end


def _plain(text: str) -> str:
    """Return a text in which an address stands as itself: without comments, quotes and words for its signs."""
    text = _COMMENT.sub(lambda found: found[0] if "(at)" in found[0] else "", text)
    text = with_signs(folded(text).replace("\\", ""))
    return _QUOTED.sub(r"\1", text)
