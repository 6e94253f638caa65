"""publish: committed changes from the outbox to the bus, at least once, and for each key in the order of commits."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from mailfold.bus import AT_FAULT, Bus, BusEvent, batches
from mailfold.errors import BusUnavailable
from mailfold.jsontext import dumps
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

#: Rises when a field goes away or changes its meaning; docs/events has a schema for each kind of event.
VERSION = 1
#: What a crash may cause to be sent again.
PAGE_ROWS = 100
#: How long a page may wait for the bus; well below the time after which Postgres ends an idle transaction (roles.sql).
PAGE_MS = 20_000
#: What a page may take at worst, with its last call and its statements.
TIME_GUARD_MS = 60_000
#: A provider's reason has no limit of its own, an event has.
REASON_CHARACTERS = 1_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class PublishContext:
    """What publish works with."""

    database: Database
    bus: Bus
    remaining_ms: Callable[[], int]
    telemetry: Telemetry


@dataclass(frozen=True, kw_only=True)
class Change:
    """One row of the outbox, ready for the bus."""

    outbox_id: int
    key: str
    event: BusEvent

    @classmethod
    def from_row(cls, outbox_id: int, topic: str, key: str, body: dict[str, Any], created_at: datetime) -> "Change":
        """Make the event of a row; the same row always makes the same event."""
        because = body.get("because") or {}
        if isinstance(because.get("reason"), str):
            body = {**body, "because": {**because, "reason": because["reason"][:REASON_CHARACTERS]}}
        detail = {
            "version": VERSION,
            # A database that is restored draws numbers again which the bus has seen: the time makes them others.
            "id": f"{outbox_id}-{(created_at - _EPOCH) // timedelta(microseconds=1)}",
            "sequence": outbox_id,
            "key": key,
            "occurred_at": body.get("occurred_at") or because.get("occurred_at"),
            "created_at": created_at.isoformat(),
            "body": body,
        }
        event = BusEvent(detail_type=topic.replace("_", " "), detail=dumps(detail), at=created_at)
        return cls(outbox_id=outbox_id, key=key, event=event)


@dataclass(kw_only=True)
class _Run:
    """What one run has come to so far."""

    published: int = 0
    failed: int = 0
    #: The keys of which a change was refused: what came later must not overtake it.
    held: set[str] = field(default_factory=set)
    #: Up to here all is published or held back. Numbers are drawn in the order of commits (decisions/0061), so that
    #: nothing can appear below; without it each page would pass by all that earlier ones have published.
    floor: int = 0
    #: Why the run ended before the work did.
    ended_by: str | None = None


def publish(context: PublishContext) -> dict[str, int]:
    """Publish what is committed; suppressed at any point, the next run goes on from there."""
    run = _Run()
    while _publish_page(context, run):
        if context.remaining_ms() <= TIME_GUARD_MS:
            run.ended_by = "out of time"
            break
    context.telemetry.count("EventsPublished", run.published)
    context.telemetry.count("PublishFailed", run.failed)
    if run.ended_by != "another run":
        with context.database.transaction() as tx:
            [[age_s]] = tx.run("publish_age", {})
        context.telemetry.measure("OutboxAge", age_s)
    context.telemetry.say("published", events=run.published, failed=run.failed, ended_by=run.ended_by)
    return {"published": run.published, "failed": run.failed}


def _publish_page(context: PublishContext, run: _Run) -> bool:
    """Publish the oldest changes in one transaction; return whether there may be more to do."""
    with context.database.transaction() as tx:
        [[alone]] = tx.run("publish_alone", {})
        if not alone:
            run.ended_by = "another run"
            return False
        rows = tx.run("publish_next", {"floor": run.floor, "held": dumps(sorted(run.held)), "page": PAGE_ROWS})
        changes = [Change.from_row(*row) for row in rows]
        taken = _send(changes, context, run)
        if taken:
            tx.run("publish_done", {"outbox_ids": dumps(sorted(taken))})
    run.published += len(taken)
    left = [change for change in changes if change.outbox_id not in taken and change.key not in run.held]
    if changes and not left:
        run.floor = changes[-1].outbox_id
    return run.ended_by is None and (bool(left) or len(changes) == PAGE_ROWS)


def _send(changes: Sequence[Change], context: PublishContext, run: _Run) -> set[int]:
    """Send what may be sent; return the numbers of what the bus has taken."""
    taken: set[int] = set()
    enough_ms = context.remaining_ms() - PAGE_MS
    for call in _calls(changes, run):
        if run.ended_by or context.remaining_ms() < enough_ms:
            break
        try:
            refusals = context.bus.put([change.event for change in call])
        except BusUnavailable as exc:
            run.failed += len(call)
            run.ended_by = str(exc)
            context.telemetry.warn("not published", reason=str(exc), events=len(call))
            break
        taken |= {change.outbox_id for change, refusal in zip(call, refusals, strict=True) if refusal is None}
        _hold_back(call, refusals, context, run)
    return taken


def _hold_back(call: Sequence[Change], refusals: Sequence[str | None], context: PublishContext, run: _Run) -> None:
    codes = {refusal for refusal in refusals if refusal is not None}
    if not codes:
        return
    refused = [change for change, refusal in zip(call, refusals, strict=True) if refusal is not None]
    run.failed += len(refused)
    run.held |= {change.key for change in refused}
    context.telemetry.warn("not published", reason=", ".join(sorted(codes)), events=len(refused))
    # A bus that takes nothing will not take the next call either; events that are to blame themselves say nothing.
    if len(refused) == len(call) and codes - AT_FAULT:
        run.ended_by = "the bus takes nothing"


def _calls(changes: Sequence[Change], run: _Run) -> Iterator[list[Change]]:
    """Put together what one call may hold: never two of one key, because the bus may refuse only the first of them."""
    for turn in _turns(changes):
        free = [change for change in turn if change.key not in run.held]
        yield from (free[part] for part in batches([len(change.event.detail) for change in free]))


def _turns(changes: Sequence[Change]) -> list[list[Change]]:
    """Return the first change of each key, then the second of each, and so on."""
    turns: list[list[Change]] = []
    seen: Counter[str] = Counter()
    for change in changes:
        if seen[change.key] == len(turns):
            turns.append([])
        turns[seen[change.key]].append(change)
        seen[change.key] += 1
    return turns
