"""mailfold replay: stored events through today's adapters, first as a dry run."""

import argparse
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from cli.ask import agreed
from cli.errors import DONE, FOUND, CommandError
from cli.paging import pages
from cli.place import Place
from cli.progress import Progress
from cli.show import as_json, table

#: Addresses that are shown to a person; --json has more of them.
SHOWN = 20


@dataclass
class Sum:
    """What all pages of a replay amount to."""

    read: int = 0
    changed: int = 0
    suppressed: int = 0
    lifted: int = 0
    left_over: int = 0
    readings: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    left_alone: Counter[str] = field(default_factory=Counter)
    not_configured: set[str] = field(default_factory=set)
    changed_addresses: list[dict[str, Any]] = field(default_factory=list)

    def add(self, page: dict[str, Any]) -> None:
        """Add a page."""
        for name in ("read", "changed", "suppressed", "lifted", "left_over"):
            setattr(self, name, getattr(self, name) + page[name])
        self.readings.update({(row["from"], row["to"], row["fields"]): row["events"] for row in page["readings"]})
        self.statuses.update(page["statuses"])
        self.left_alone.update(page["left_alone"])
        self.not_configured.update(page["not_configured"])
        self.changed_addresses.extend(page["changed_addresses"])

    def as_dict(self) -> dict[str, Any]:
        """Return it as programs read it."""
        readings = [
            {"from": was, "to": now, "fields": fields, "events": events}
            for (was, now, fields), events in self.readings.most_common()
        ]
        return {**vars(self), "readings": readings, "not_configured": sorted(self.not_configured)}


def add_parsers(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("replay", help="read stored events again, after a mapping was corrected")
    parser.add_argument("--message", metavar="MESSAGE", help="the events of this message")
    parser.add_argument("--recipient", metavar="ADDRESS", help="the events of this address")
    parser.add_argument("--source", metavar="SOURCE", help="the events of this source")
    parser.add_argument("--since", metavar="TIME", help="events received at or after this time, such as 2026-11-01")
    parser.add_argument("--until", metavar="TIME", help="events received before this time")
    parser.add_argument("--apply", action="store_true", help="change what the dry run shows, after a question")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=replay)


def replay(arguments: argparse.Namespace, place: Place) -> int:
    """Show what would change, and change it where that is wanted."""
    selection = {
        "message_id": arguments.message,
        "recipient": arguments.recipient,
        "source": arguments.source,
        "since": arguments.since,
        "until": arguments.until,
    }
    if not any(selection[name] for name in ("message_id", "recipient", "source", "since")):
        raise CommandError("name what to replay: --message, --recipient, --source or --since")
    told = _run(place, "reading", **selection)
    applied, swept = None, None
    if not arguments.json:
        _show(told, "would be")
    question = f"Read {told.changed} events again?"
    if arguments.apply and told.changed and agreed(question, yes=arguments.yes):
        applied = _run(place, "writing", **selection, apply=True)
        # The rows of soft bounces are derived from the events by sweep, in its own time or now.
        swept = place.invoke("Sweep", {})
    if arguments.json:
        print(as_json({"told": told.as_dict(), "applied": applied and applied.as_dict(), "swept": swept}))
    elif applied:
        _show(applied, "were")
        print(f"soft bounces in a row: {_swept(swept)}")
    return FOUND if (applied or told).left_over else DONE


def _run(place: Place, label: str, **arguments: Any) -> Sum:
    total, progress = Sum(), None
    for page in pages(place, "replay", **arguments):
        progress = progress or Progress(label, page["total"])
        total.add(page)
        progress.reach(total.read)
    return total


def _show(total: Sum, verb: str) -> None:
    found = total.as_dict()
    print(f"{total.read} events were read; {total.changed} {verb} changed")
    if total.changed:
        print(table(found["readings"], {"from": "from", "to": "to", "what differs": "fields", "events": "events"}))
        print("statuses: " + (", ".join(f"{n} {change}" for change, n in sorted(total.statuses.items())) or "the same"))
        print(f"addresses: {total.suppressed} {verb} stopped, {total.lifted} {verb} released")
    for row in total.changed_addresses[:SHOWN]:
        print(f"  {'suppressed' if row['suppressed'] else 'lifted'}  {row['address']}  {row['scope']}".rstrip())
    if total.suppressed + total.lifted > SHOWN:
        print(f"  and {total.suppressed + total.lifted - SHOWN} more")
    for reason, events in total.left_alone.most_common():
        print(f"left alone: {events}, {reason}")
    for source in found["not_configured"]:
        print(f"read without settings: the source {source} is no longer configured")


def _swept(answer: dict[str, Any] | None) -> str:
    return f"{answer['suppressed']} stopped or moved, {answer['lifted']} released" if answer else "not looked at"
