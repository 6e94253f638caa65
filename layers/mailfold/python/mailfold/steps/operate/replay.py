"""replay: stored events read again by today's adapters, as a dry run or for good, a page at a time."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mailfold.erasure import ERASED_REASON
from mailfold.errors import CommandRefused, TransientStoreError
from mailfold.jsontext import dumps
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.operate.reparse import Reparse, differing, reread
from mailfold.store.connection import Transaction
from mailfold.store.reading import read
from mailfold.store.replay import FORCE_CUSTOM_PLAN, Row, Written, write_readings

PAGE_ROWS = 500
LARGEST_PAGE = 2_000
#: Events of the addresses of a page that are read beside it; an address with more is told of in parts.
NEIGHBOURS = 5_000
#: How often a page is tried that live traffic keeps from its rows for longer than the role may wait (roles.sql).
TRIES = 3
#: Statuses and addresses that a page names; what it counts is all of them.
NAMED = 200


class Undone(Exception):
    """A dry run has seen what it came for."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which stored events are meant, and how far a replay of them has come."""

    where: dict[str, str]
    #: When the last event of the page before was received, and its id.
    after: tuple[datetime, str] | None

    @classmethod
    def read(cls, arguments: Arguments) -> "Selection":
        """Read it from an order, which must name something."""
        since, until = arguments.moment("since"), arguments.moment("until")
        named = {
            "message_id": arguments.text("message_id", ""),
            "recipient": arguments.address("recipient") if arguments.value("recipient") else "",
            "source": arguments.text("source", ""),
        }
        if not any(named.values()) and since is None:
            raise CommandRefused("name a message, a recipient, a source or since when")
        where = {
            **named,
            "since": since.isoformat() if since else "-infinity",
            "until": until.isoformat() if until else "infinity",
        }
        return cls(where=where, after=read_cursor(arguments))

    def is_before(self, row: Row) -> bool:
        """Tell whether an earlier page held this row."""
        return self.after is not None and (datetime.fromisoformat(row["received_at"]), row["event_id"]) <= self.after


def replay(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Read one page of stored events again; return what changed, or would, and where the next page begins."""
    selection = Selection.read(arguments)
    most = arguments.number("most", PAGE_ROWS, most=LARGEST_PAGE)
    apply = arguments.flag("apply")
    return retry_on_lock(lambda: _replay_page(context, selection, most=most, apply=apply))


def retry_on_lock(page: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Try a page again where live traffic held one of its rows and went first."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(TransientStoreError):
            return page()
    return page()


def _replay_page(context: OperateContext, selection: Selection, *, most: int, apply: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    with contextlib.suppress(Undone), context.database.transaction() as tx:
        tx.execute(FORCE_CUSTOM_PLAN)
        own, rows, found = _read_page(context, tx, selection, most)
        written = write_readings(tx, list(found.readings.values()), publish=context.publish)
        answer = _answer(selection, own, rows, found, written, apply=apply)
        answer["next"] = _next(own, most)
        if selection.after is None:
            [[answer["total"]]] = tx.run("replay_count", selection.where)
        if not apply:
            raise Undone
        if written.changes:
            _note(context, tx, selection, written)
    return answer


def _read_page(
    context: OperateContext, tx: Transaction, selection: Selection, most: int
) -> tuple[list[Row], list[Row], Reparse]:
    """Read the page, and whatever else of the selection the addresses have that it changes.

    An address that two events stop is released only where both are read otherwise, also when they stand on two pages.
    """
    own = read(tx, "replay_page", {**selection.where, **cursor_parameters(selection.after), "most": most})
    found = reread(own, context.sources)
    by_id = {row["event_id"]: row for row in own}
    touched = {
        str(reading["recipient"])
        for event_id, changed in found.readings.items()
        for reading in (by_id[event_id], changed)
        if reading["recipient"] is not None
    }
    if not touched:
        return own, own, found
    addresses = dumps(sorted(touched))
    neighbours = read(tx, "replay_neighbours", {**selection.where, "addresses": addresses, "most": NEIGHBOURS})
    rows = own + [row for row in neighbours if row["event_id"] not in by_id]
    return own, rows, reread(rows, context.sources)


def _answer(
    selection: Selection, own: list[Row], rows: list[Row], found: Reparse, written: Written, *, apply: bool
) -> dict[str, Any]:
    mine = {row["event_id"] for row in own}
    # For good, a neighbour is changed here and found unchanged on its own page; undone, it is counted there.
    counted = [change for change in written.changes if apply or change["was"]["event_id"] in mine]
    earlier = {row["event_id"] for row in rows if selection.is_before(row)}
    told = _touched(change for change in written.changes if change["was"]["event_id"] in earlier)
    statuses = [row for row in written.statuses if row["recipient"] not in told]
    addresses = [row for row in written.addresses if row["address"] not in told]
    refused = dict.fromkeys(written.refused, "Postgres refuses the new reading")
    meanwhile = found.readings.keys() - {change["was"]["event_id"] for change in written.changes} - refused.keys()
    left_alone = {**found.left_alone, **refused, **dict.fromkeys(meanwhile, "somebody else changed it meanwhile")}
    reasons = Counter(reason for event_id, reason in left_alone.items() if event_id in mine)
    return {
        "applied": apply,
        "read": len(own),
        "changed": len(counted),
        "readings": _readings(counted),
        "statuses": dict(Counter(row["change"] for row in statuses)),
        "changed_statuses": statuses[:NAMED],
        "suppressed": sum(row["suppressed"] for row in addresses),
        "lifted": sum(not row["suppressed"] for row in addresses),
        "changed_addresses": addresses[:NAMED],
        "left_alone": dict(reasons),
        # Whoever was erased stays erased; everything else may be worth a look.
        "left_over": reasons.total() - reasons[ERASED_REASON],
        "not_configured": sorted(found.not_configured),
    }


def _touched(changes: Iterable[dict[str, Row]]) -> set[str]:
    return {str(reading["recipient"]) for change in changes for reading in change.values()}


def _readings(changes: list[dict[str, Row]]) -> list[dict[str, Any]]:
    counts = Counter(
        (_kind(change["was"]), _kind(change["now"]), ", ".join(differing(change["was"], change["now"])))
        for change in changes
    )
    return [
        {"from": was, "to": now, "fields": fields, "events": events}
        for (was, now, fields), events in sorted(counts.items())
    ]


def _kind(row: Row) -> str:
    """Return what an event is and does, such as `bounced/hard, stop`."""
    kind = f"{row['type']}/{row['bounce_class']}" if row["bounce_class"] else str(row["type"])
    return f"{kind}, {row['effect']}" if row["effect"] else kind


def read_cursor(arguments: Arguments) -> tuple[datetime, str] | None:
    """Read where a page begins, as the page before named it."""
    value = arguments.value("after")
    if value is None:
        return None
    after = Arguments(value)
    received_at = after.moment("received_at")
    if received_at is None:
        raise CommandRefused("after must be what the page before named as next")
    return received_at, after.text("event_id")


def cursor_parameters(after: tuple[datetime, str] | None) -> dict[str, str]:
    """Return a cursor as the statements take it."""
    return {"after_at": after[0].isoformat() if after else "-infinity", "after_id": after[1] if after else ""}


def _next(own: list[Row], most: int) -> dict[str, str] | None:
    if len(own) < most:
        return None
    return {"received_at": own[-1]["received_at"], "event_id": own[-1]["event_id"]}


def _note(context: OperateContext, tx: Transaction, selection: Selection, written: Written) -> None:
    told = {name: value for name, value in selection.where.items() if name != "recipient"}
    context.note(tx, "replay", address=selection.where["recipient"] or None, **told, changed=len(written.changes))
