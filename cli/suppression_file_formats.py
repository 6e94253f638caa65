"""Read a stop list from a file: every row becomes something that stops, or is named as bad with its line."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from cli.cells import plain
from cli.errors import CommandError
from cli.suppression_files import OWN, STOP_LISTS, SuppressionFile, candidates
from mailfold.providers.base import address_of

Row = dict[str, Any]

#: What operate takes; the rest of the mistakes it would find are found here, with their lines.
_ADDRESS = re.compile(r"(?:[^\s@]+@[^\s@]+|erased:[0-9a-f]{64})")
LONGEST_ADDRESS = 320
#: Later than any seconds value and earlier than any milliseconds value of a mail.
_FIRST_MILLISECONDS = 10**11


@dataclass(kw_only=True)
class Reading:
    """What is in a file."""

    kind: SuppressionFile
    rows: list[Row] = field(default_factory=list)
    #: (line, why)
    bad: list[tuple[int, str]] = field(default_factory=list)
    #: Rows that another row of the file says already.
    repeated: int = 0


def read_file(
    data: bytes, *, kind: str | None = None, at: datetime | None = None, scope: str | None = None, now: datetime
) -> Reading:
    """Read a CSV file, or the JSON that a provider's API answers."""
    text = _decode(data)
    is_json = text.lstrip()[:1] in {"{", "["}
    columns, lines = _json_lines(text) if is_json else _csv_lines(text)
    reading = Reading(kind=_kind(kind, columns))
    if reading.kind.refusal:
        raise CommandError(f"{reading.kind.name} is not imported: {reading.kind.refusal}")
    seen: set[tuple[str, ...]] = set()
    for line, cells in lines:
        try:
            if isinstance(cells, str):
                raise ValueError(cells)  # noqa: TRY301, TRY004
            rows = list(_rows(line, cells, reading.kind, at=at, scope=scope, now=now))
        except ValueError as mistake:
            reading.bad.append((line, str(mistake)))
            continue
        for row in rows:
            identity = (row["address"], row["scope"], row["reason"], row["at"])
            reading.repeated += identity in seen
            if identity not in seen:
                seen.add(identity)
                reading.rows.append(row)
    return reading


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise CommandError(f"the file is not UTF-8 (at byte {exc.start}): save it as CSV UTF-8") from None


def _kind(name: str | None, columns: frozenset[str]) -> SuppressionFile:
    if name is not None:
        kind = STOP_LISTS[name]
        missing = kind.columns - columns
        if missing - {*kind.times, kind.detail}:
            raise CommandError(f"{name} has columns that the file lacks: {', '.join(sorted(missing))}")
        return kind
    found = candidates(columns)
    if len(found) != 1:
        which = f"may be {' or '.join(kind.name for kind in found)}" if found else "are those of no format known here"
        raise CommandError(f"the columns ({', '.join(sorted(columns))}) {which}: say which with --format")
    return found[0]


def _csv_lines(text: str) -> tuple[frozenset[str], Iterator[tuple[int, Row | str]]]:
    first = text.split("\n", 1)[0]
    if ";" in first and "," not in first:
        raise CommandError("the cells are separated by semicolons: save the file with commas")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = [_column(name) for name in next(reader, [])]
    if not any(header):
        raise CommandError("the file is empty")
    if len(set(header)) < len(header):
        raise CommandError("two columns have the same name")
    return frozenset(header), _csv_rows(reader, header)


def _csv_rows(reader: Any, header: list[str]) -> Iterator[tuple[int, Row | str]]:
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as exc:
            # Where quotes do not close, nobody knows where the next row begins.
            raise CommandError(f"line {line}: {exc}; nothing below it can be read") from None
        if cells is None:
            return
        if not any(cells):
            continue
        if len(cells) != len(header):
            yield line, f"{len(cells)} cells under {len(header)} columns"
        else:
            yield line, dict(zip(header, cells, strict=True))


def _json_lines(text: str) -> tuple[frozenset[str], Iterator[tuple[int, Row | str]]]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        raise CommandError("the file begins like JSON and is none") from None
    if isinstance(parsed, dict):
        # What an API answers is a list with a name, beside numbers and links for paging.
        lists = [value for value in parsed.values() if isinstance(value, list)]
        parsed = lists[0] if len(lists) == 1 else None
    if not isinstance(parsed, list) or not all(isinstance(item, dict) for item in parsed) or not parsed:
        raise CommandError("the file is JSON but holds no list of objects")
    rows = [{_column(name): value for name, value in item.items()} for item in parsed]
    return frozenset().union(*rows), ((number, row) for number, row in enumerate(rows, 1))


def _column(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def _rows(
    line: int, cells: Row, kind: SuppressionFile, *, at: datetime | None, scope: str | None, now: datetime
) -> Iterator[Row]:
    if kind is OWN:
        cells = {name: plain(value) if isinstance(value, str) else value for name, value in cells.items()}
    address = _address(_text(cells, kind.address))
    reason = kind.reason or _reason(_text(cells, kind.reason_column), kind.reasons)
    for moment in _moments(cells, kind, at=at, now=now):
        for limit in _scopes(cells, kind, scope):
            yield {
                "line": line,
                "address": address,
                "scope": limit,
                "reason": reason,
                "at": moment.isoformat(),
                "detail": _text(cells, kind.detail),
                "raw": {name: value for name, value in cells.items() if value not in ("", None)},
            }


def _text(cells: Mapping[str, Any], name: str) -> str:
    value = cells.get(name)
    return "" if value is None or isinstance(value, list | dict) else str(value).strip()


def _address(text: str) -> str:
    address = address_of(text) or ""
    if not _ADDRESS.fullmatch(address) or not address.isprintable() or len(address) > LONGEST_ADDRESS:
        raise ValueError(f"{text[:80]!r} is no address")
    return address


def _reason(word: str, reasons: Mapping[str, str]) -> str:
    if word.upper() not in reasons:
        raise ValueError(f"{word[:80]!r} is none of the reasons {', '.join(reasons)}")
    return reasons[word.upper()]


def _scopes(cells: Mapping[str, Any], kind: SuppressionFile, scope: str | None) -> list[str]:
    """Return what the stop is limited to; a row of Mailgun may name several tags."""
    value = cells.get(kind.scope_column) if kind.scope_column else None
    if kind is OWN:
        return [str(value or scope or "")]
    words = value if isinstance(value, list) else re.split(r"[,;|]", str(value)) if value not in (None, "") else []
    named = [str(word).strip() for word in words if str(word).strip()]
    if not named:
        return [scope or ""]
    return [""] if "*" in named else [f"{kind.scope_prefix}{word}" for word in named]


def _moments(cells: Mapping[str, Any], kind: SuppressionFile, *, at: datetime | None, now: datetime) -> list[datetime]:
    """Return when it was stopped; our own lists say when first and when last, and both are kept."""
    stated = [text for name in kind.times if (text := _text(cells, name))]
    if not stated and at is None:
        raise ValueError("no time; give all such rows one with --at, and the same one whenever this file is imported")
    moments = {read_time(text) for text in (stated if kind is OWN else stated[:1])} or {at or now}
    if max(moments) > now + timedelta(days=1):
        raise ValueError("a time in the future")
    return sorted(moments)


def _with_offset(text: str) -> str:
    for zone in ("UTC", "GMT"):
        if text.endswith(zone):
            return f"{text.removesuffix(zone).rstrip()}+00:00"
    return text


def read_time(text: str) -> datetime:
    """Read Unix seconds or milliseconds, ISO 8601 or the date of a mail header; without an offset it is UTC."""
    try:
        if re.fullmatch(r"\d{1,15}(\.\d+)?", text):
            seconds = float(text)
            return datetime.fromtimestamp(seconds / 1000 if seconds >= _FIRST_MILLISECONDS else seconds, UTC)
        moment = parsedate_to_datetime(text) if text[:1].isalpha() else datetime.fromisoformat(_with_offset(text))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text[:80]!r} is no time that can be read without guessing") from None
