"""process: a batch of queue records in, one committed transaction out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mailfold.errors import DataRejected, TransientStoreError
from mailfold.queue import Record
from mailfold.request import Source
from mailfold.steps.staging import Counts
from mailfold.steps.unit import Excluded, UnitOfWork
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

#: Received this often, a record may be what killed earlier invocations: it runs alone, after all others.
SUSPECT_AFTER = 4
#: With less time than this left, records go back to the queue instead of being cut off half way.
TIME_GUARD_MS = 10_000


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What process works with."""

    database: Database
    sources: Mapping[str, Source]
    topics: Mapping[str, str]
    publish: bool
    remaining_ms: Callable[[], int]
    telemetry: Telemetry


@dataclass
class Outcome:
    """What became of the records of one invocation."""

    #: Ids of the records that SQS must deliver again.
    failed: list[str] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)


def process(records: Sequence[Record], bench: Bench) -> Outcome:
    """Fold the batch; whatever is not committed is reported as failed and comes again."""
    outcome = Outcome()
    calm = [record for record in records if record.receive_count < SUSPECT_AFTER]
    suspects = [record for record in records if record.receive_count >= SUSPECT_AFTER]
    for group in [calm, *([suspect] for suspect in suspects)]:
        _process_group(group, bench, outcome)
    _report(outcome, bench.telemetry)
    return outcome


def _process_group(group: Sequence[Record], bench: Bench, outcome: Outcome) -> None:
    """Fold a group in one transaction; on a value that Postgres refuses, halve it until that record stands alone."""
    if not group:
        return
    if bench.remaining_ms() < TIME_GUARD_MS:
        outcome.failed.extend(record.record_id for record in group)
        bench.telemetry.warn("out of time", records=len(group))
        return
    try:
        outcome.counts.extend(_unit(bench).run(group))
    except TransientStoreError as failure:
        outcome.failed.extend(record.record_id for record in group)
        bench.telemetry.warn("rolled back", records=len(group), reason=str(failure))
    except Excluded as excluded:
        outcome.failed.extend(record.record_id for record in excluded.records)
        bench.telemetry.warn("failed", records=len(excluded.records), reason=excluded.reason)
        _process_group([record for record in group if record not in excluded.records], bench, outcome)
    except DataRejected as refusal:
        bench.telemetry.warn("isolating", records=len(group), reason=str(refusal))
        if len(group) == 1:
            _process_alone(group[0], bench, outcome)
        else:
            middle = len(group) // 2
            _process_group(group[:middle], bench, outcome)
            _process_group(group[middle:], bench, outcome)


def _process_alone(record: Record, bench: Bench, outcome: Outcome) -> None:
    """Fold the events of one record one by one; where even that is refused, keep the record whole."""
    unit = _unit(bench)
    try:
        try:
            outcome.counts.extend(unit.run([record], one_by_one=True))
        except DataRejected as refusal:
            outcome.counts.extend(unit.bury(record, str(refusal)))
    except TransientStoreError as failure:
        outcome.failed.append(record.record_id)
        bench.telemetry.warn("rolled back", records=1, reason=str(failure))


def _unit(bench: Bench) -> UnitOfWork:
    return UnitOfWork(
        database=bench.database,
        sources=bench.sources,
        topics=bench.topics,
        publish=bench.publish,
        remaining_ms=bench.remaining_ms,
    )


def _report(outcome: Outcome, telemetry: Telemetry) -> None:
    for source, total in _totals(outcome.counts).items():
        telemetry.count("EventsNew", total.new, source=source)
        telemetry.count("EventsDuplicate", total.duplicate, source=source)
        telemetry.count("EventsConflict", total.conflict, source=source)
        telemetry.count("EventsDead", total.dead, source=source)
    telemetry.count("RecordsFailed", len(outcome.failed))


def _totals(counted: Iterable[Counts]) -> dict[str | None, Counts]:
    totals: dict[str | None, Counts] = {}
    for counts in counted:
        total = totals.setdefault(counts.source, Counts(source=counts.source))
        total.new += counts.new
        total.duplicate += counts.duplicate
        total.conflict += counts.conflict
        total.dead += counts.dead
    return totals
