"""mailfold dead-letters queue: the records that SQS gave up on, and how they get back onto the queue."""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cli.consent import add_redrive_options, confirmed, positive
from cli.dead_queue import BATCH, QUEUES, DeadQueue, Record, dead_queues
from cli.errors import DONE, FOUND, CommandError, TryAgain
from cli.pace import Pace, waiting_records
from cli.place import Place
from cli.show import as_json, table

#: A record may hold many events, and stands in the same queue as live traffic.
RATE = 20
MOST_WAITING = 20
#: Records of one run.
MOST = 1_000
#: Of the bodies of one order; as JSON they may double, and Lambda takes 6 MB.
TRIAL_BYTES = 2_000_000

COLUMNS = {
    "queue": "queue",
    "records": "records",
    "outcome": "outcome",
    "source": "source",
    "kind": "kind",
    "sample": "sample",
    "reason": "reason",
}


@dataclass(kw_only=True)
class Walk:
    """What one walk through a dead-letter queue came to."""

    rows: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)
    sums: Counter[str] = field(default_factory=Counter)

    def count(self, queue: str, record: Record, told: dict[str, Any], outcome: str) -> None:
        """Count one record."""
        self.sums[outcome] += 1
        key = (queue, outcome, str(told["source"]), told["kind"], told["reason"])
        first = {"queue": queue, "outcome": outcome, "records": 0, "sample": record.record_id}
        first.update({name: told[name] for name in ("source", "kind", "reason")})
        self.rows.setdefault(key, first)["records"] += 1

    def as_dict(self) -> dict[str, Any]:
        """Return it as programs read it."""
        return {"outcomes": dict(self.sums), "rows": list(self.rows.values())}


def add_parsers(commands: Any) -> None:
    """Add the command and those below it."""
    parser = commands.add_parser("queue", help="the records in the dead-letter queues of SQS")
    _add_limits(parser)
    parser.set_defaults(run=show_records)
    below = parser.add_subparsers(metavar="COMMAND")
    listed = below.add_parser("list", help="by what today's code would make of them")
    _add_limits(listed)
    listed.set_defaults(run=show_records)
    redrive = below.add_parser("redrive", help="put back onto the queue what today's code folds; try it first")
    _add_limits(redrive)
    add_redrive_options(redrive, rate=RATE)
    redrive.set_defaults(run=redrive_records)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", help="only the records of one source")
    parser.add_argument("--most", type=positive, default=MOST, metavar="N", help=f"so many records at most ({MOST})")
    parser.add_argument("--of", choices=QUEUES, help="only this queue: of the records, or of the topic of SES")


def show_records(arguments: argparse.Namespace, place: Place) -> int:
    """Show what stands in the dead-letter queues and what today's code would make of it."""
    walked = _walk(arguments, place, apply=False, rate=RATE)
    print(as_json(walked.as_dict()) if arguments.json else table(list(walked.rows.values()), COLUMNS))
    return DONE


def redrive_records(arguments: argparse.Namespace, place: Place) -> int:
    """Try all records first; then, if asked to, put those back that today's code folds."""
    tried = _walk(arguments, place, apply=False, rate=arguments.rate)
    if not arguments.json:
        print(table(list(tried.rows.values()), COLUMNS))
    done = None
    movable = tried.sums["would be sent"]
    if arguments.apply and movable and confirmed(arguments, f"put {movable} records back onto the queue?"):
        done = _walk(arguments, place, apply=True, rate=arguments.rate)
        if not arguments.json:
            print(f"\n{table(list(done.rows.values()), COLUMNS)}")
    if arguments.json:
        print(as_json({"tried": tried.as_dict(), "done": done and done.as_dict()}))
    elif not arguments.apply:
        print("\nonly tried: --apply does it")
    return FOUND if any((done or tried).sums[outcome] for outcome in ("left", "not sent", "copied")) else DONE


def _walk(arguments: argparse.Namespace, place: Place, *, apply: bool, rate: int) -> Walk:
    # Whoever may not call operate learns it before a record is touched.
    place.order("dead-letters.try", bodies=[])
    pace = Pace(rate=rate, backlog=lambda: waiting_records(place), most_waiting=MOST_WAITING)
    walked = Walk()
    for queue in dead_queues(place, arguments.of):
        walk_queue(place, queue, pace, walked, source=arguments.source, most=arguments.most, apply=apply)
    return walked


def walk_queue(
    place: Place, queue: DeadQueue, pace: Pace, walked: Walk, *, source: str | None, most: int, apply: bool
) -> None:
    """Take up to `most` records, a batch at a time; whatever is not moved is visible again when this ends."""
    held: dict[str, Record] = {}
    seen: set[str] = set()
    try:
        while len(seen) < most:
            pace.take(BATCH)
            found = queue.receive(min(BATCH, most - len(seen)))
            if not found:
                return
            # Held first: whatever fails from here on, the record becomes visible again.
            held.update({record.record_id: record for record in found})
            fresh = [record for record in found if record.record_id not in seen]
            seen.update(record.record_id for record in fresh)
            _handle(place, queue, pace, walked, fresh, held, source=source, apply=apply)
    finally:
        queue.release(held.values())


def _handle(
    place: Place,
    queue: DeadQueue,
    pace: Pace,
    walked: Walk,
    fresh: Sequence[Record],
    held: dict[str, Record],
    *,
    source: str | None,
    apply: bool,
) -> None:
    told = {record.record_id: answer for record, answer in zip(fresh, _try(place, pace, fresh), strict=True)}
    wanted = [it for it in fresh if source is None or told[it.record_id]["source"] == source]
    movable = [it for it in wanted if told[it.record_id]["result"] != "left"]
    sent = queue.send(movable) if apply else []
    deleted = queue.delete(sent)
    for record in deleted:
        del held[record.record_id]
    for record in fresh:
        if record not in wanted:
            outcome = "of another source"
        elif record not in movable:
            outcome = "left"
        elif not apply:
            outcome = "would be sent"
        elif record in sent:
            # A copy is a duplicate, and is counted as one.
            outcome = "sent" if record in deleted else "copied"
        else:
            outcome = "not sent"
        walked.count(queue.name, record, told[record.record_id], outcome)


def _try(place: Place, pace: Pace, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Ask what today's code would make of the records; one that even operate cannot bear is asked about alone."""
    if len(records) > 1 and sum(len(record.body) for record in records) > TRIAL_BYTES:
        middle = len(records) // 2
        return _try(place, pace, records[:middle]) + _try(place, pace, records[middle:])
    try:
        order = partial(place.order, "dead-letters.try", bodies=[record.body for record in records])
        answers: list[dict[str, Any]] = pace.again(order)["records"]
    except TryAgain:
        raise
    except CommandError as failure:
        if len(records) == 1:
            return [{"result": "left", "source": None, "kind": "failed", "reason": str(failure)}]
        return [answer for record in records for answer in _try(place, pace, [record])]
    return answers
