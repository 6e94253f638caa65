"""mailfold status, recipient and totals: what happened."""

import argparse
from typing import Any

from cli.errors import DONE
from cli.place import Place
from cli.show import as_json, table


def _event_columns(heading: str, name: str) -> dict[str, str]:
    return {
        "time": "occurred_at",
        "type": "type",
        "class": "bounce_class",
        heading: name,
        "source": "source",
        "reason": "reason",
    }


OF_MESSAGE = _event_columns("recipient", "recipient")
OF_ADDRESS = _event_columns("message", "message_id")


def add_parsers(commands: Any) -> None:
    """Add the three commands."""
    status = commands.add_parser("status", help="what happened to a message")
    status.add_argument("message", metavar="MESSAGE", help="the message id")
    status.add_argument("--raw", action="store_true", help="with the provider's own words (in --json)")
    status.add_argument(
        "--event", metavar="ID", help="only the event of this id, where all raws together are too large"
    )
    status.set_defaults(run=show_status)
    recipient = commands.add_parser("recipient", help="what is known of an address, and whether it may be mailed")
    recipient.add_argument("address", metavar="ADDRESS")
    recipient.set_defaults(run=show_recipient)
    totals = commands.add_parser("totals", help="events by day, source and kind, pruned ones included")
    totals.add_argument("--days", type=int, default=30)
    totals.set_defaults(run=show_totals)


def show_status(arguments: argparse.Namespace, place: Place) -> int:
    """Show the status of a message for each recipient, and its timeline."""
    one = {"event": arguments.event} if arguments.event else {}
    found = place.order("message.show", message_id=arguments.message, raw=arguments.raw, **one)
    if arguments.json:
        print(as_json(found))
        return DONE
    columns = {"recipient": "recipient", "status": "type", "class": "bounce_class", "since": "first_at"}
    print(table(found["recipients"], columns))
    print()
    print(table(found["events"], OF_MESSAGE))
    return DONE


def show_recipient(arguments: argparse.Namespace, place: Place) -> int:
    """Show whether an address may be mailed, why not, and its newest events."""
    found = place.order("recipient.show", address=arguments.address)
    if arguments.json:
        print(as_json(found))
        return DONE
    print("may be mailed" if found["may_be_mailed"] else "must not be mailed")
    columns = {
        "scope": "scope",
        "suppressed": "suppressed",
        "first stop": "first_suppress_at",
        "last stop": "last_suppress_at",
    }
    print(table(found["suppressions"], columns) if found["suppressions"] else "was never stopped")
    print()
    print(table(found["events"], OF_ADDRESS))
    return DONE


def show_totals(arguments: argparse.Namespace, place: Place) -> int:
    """Show the events of each day."""
    found = place.order("totals", days=arguments.days)
    columns = {"day": "day", "source": "source", "type": "type", "class": "bounce_class", "events": "events"}
    print(as_json(found) if arguments.json else table(found["totals"], columns))
    return DONE
