"""What happened: to a message, to an address, and in all."""

from typing import Any

from mailfold.errors import CommandRefused
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.store.reading import read

#: The newest events of an address; whoever needs all of them asks the database.
RECIPIENT_EVENTS = 200
#: Lambda refuses an answer of more than 6 MB.
REASON_BYTES = 2_500_000
#: What a person of the stack may see: everything.
ALL_SOURCES = "null"


def show_message(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return the status of a message for each recipient, and its events in the order in which they happened."""
    message_id, event_id = arguments.text("message_id"), arguments.text("event", "")
    with context.database.transaction() as tx:
        recipients = read(tx, "read_message_status", {"message_id": message_id})
        events = read(
            tx,
            "read_message_events",
            {"message_id": message_id, "event_id": event_id, "raw": arguments.flag("raw")},
        )
    if event_id and not events:
        raise CommandRefused("this message has no stored event of this id")
    if not recipients and not events:
        raise CommandRefused("nothing is stored about this message")
    return {"message_id": message_id, "recipients": recipients, "events": events}


def show_recipient(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return what is known of an address: its stops, and its newest events."""
    address = arguments.address()
    with context.database.transaction() as tx:
        suppressions = read(tx, "read_suppressions_of", {"address": address})
        events = read(
            tx,
            "read_recipient_events",
            {"address": address, "most": RECIPIENT_EVENTS, "most_bytes": REASON_BYTES, "sources": ALL_SOURCES},
        )
    for event in events:
        del event["found"]
    return {
        "address": address,
        "may_be_mailed": not any(row["suppressed"] and row["scope"] == "" for row in suppressions),
        "suppressions": suppressions,
        "events": events,
    }


def totals(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return how many events of each kind each source had on each day, pruned ones included."""
    days = arguments.number("days", 30, most=3_650)
    with context.database.transaction() as tx:
        rows = read(tx, "read_totals", {"days": days, "now": context.now.isoformat(), "sources": ALL_SOURCES})
    return {"days": days, "totals": rows}
