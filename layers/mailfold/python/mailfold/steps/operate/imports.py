"""Stop lists from elsewhere: each row becomes an event, folded like every other."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from mailfold.errors import CommandRefused
from mailfold.events import BounceClass, Effect, Event, EventType, digest
from mailfold.jsontext import dumps, storable_raw
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.store import batch

#: Stands for provider and source: no adapter made these events, and no rate of a source counts them.
NAME = "import"
PAGE_ROWS = 1_000
#: Clocks differ; a stop from further ahead could not be lifted until then.
AHEAD = timedelta(days=1)
LONGEST_ADDRESS = 320

#: What a row is of, by its reason. All of them stop: that is what the list was for.
MEANINGS: dict[str, tuple[EventType, BounceClass | None]] = {
    "bounce": (EventType.BOUNCED, BounceClass.HARD),
    "complaint": (EventType.COMPLAINED, None),
    "unsubscribe": (EventType.UNSUBSCRIBED, None),
    "listed": (EventType.DROPPED, None),  # the provider does not send to it, whatever it calls that
    "soft_bounces": (EventType.DROPPED, None),  # the row of bounces stays where it was counted
    "manual": (EventType.DROPPED, None),  # a person elsewhere decided; here it is lifted like any event
}


def import_suppressions(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Fold a page of rows, or only tell what that would do."""
    file_format = arguments.text("format")
    rows = arguments.value("rows")
    if not isinstance(rows, list) or not 1 <= len(rows) <= PAGE_ROWS:
        raise CommandRefused(f"rows must be a list of 1 to {PAGE_ROWS}")
    events = [_event(row, file_format, context) for row in rows]
    if not arguments.flag("apply"):
        return _foresee(context, events)
    with context.database.transaction() as tx:
        new = batch.fold(tx, events, publish=context.publish)
        context.note(tx, "suppressions.import", format=file_format, rows=len(rows), new=len(new))
    return {"rows": len(rows), "new": len(new), "known": len(rows) - len(new)}


def _foresee(context: OperateContext, events: Sequence[Event]) -> dict[str, Any]:
    asked = [{"event_id": event.event_id, "address": event.recipient, "scope": event.scope} for event in events]
    with context.database.transaction() as tx:
        [[known, suppressed]] = tx.run("import_known", {"rows": dumps(asked)})
    return {"rows": len(events), "new": len(events) - known, "known": known, "suppressed": suppressed}


def _event(row: Any, file_format: str, context: OperateContext) -> Event:
    if not isinstance(row, dict):
        raise CommandRefused("a row must be an object")
    line = f"line {row.get('line', '?')}"
    given = Arguments(row)
    try:
        address, reason, scope = given.address(), given.text("reason"), given.text("scope", "")
        detail, occurred_at = given.text("detail", ""), given.moment("at")
    except CommandRefused as mistake:
        raise CommandRefused(f"{line}: {mistake}") from None
    _check(line, row, address, reason, occurred_at, context)
    assert occurred_at is not None
    event_type, bounce_class = MEANINGS[reason]
    # Nothing in it depends on when or how often the file is read.
    identity = digest(file_format, address, scope, reason, occurred_at.isoformat())
    return Event(
        event_id=f"{NAME}:{identity}",
        source=NAME,
        provider=NAME,
        kind=f"{file_format}/{reason}",
        type=event_type,
        bounce_class=bounce_class,
        effect=Effect.SUPPRESS,
        scope=scope,
        message_id=None,
        recipient=address,
        occurred_at=occurred_at,
        received_at=context.now,
        reason=detail or None,
        raw=row.get("raw") if isinstance(row.get("raw"), dict) else {},  # type: ignore[arg-type]
    )


def _check(line: str, row: Any, address: str, reason: str, at: datetime | None, context: OperateContext) -> None:
    if at is None or at > context.now + AHEAD:
        raise CommandRefused(f"{line}: at must be a time that is not in the future")
    if reason not in MEANINGS:
        raise CommandRefused(f"{line}: reason must be one of {', '.join(MEANINGS)}")
    if len(address) > LONGEST_ADDRESS or any(char.isspace() or not char.isprintable() for char in address):
        raise CommandRefused(f"{line}: address must be an address")
    if storable_raw(row) is not row:
        raise CommandRefused(f"{line}: holds a character that Postgres cannot store")
