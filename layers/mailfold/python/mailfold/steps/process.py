"""process: a batch of queue records in, one committed transaction out."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mailfold.errors import DataRejected, TransientStoreError
from mailfold.isolation import Ending, Report, is_possible, run_in_child
from mailfold.queue import Record
from mailfold.request import Source
from mailfold.steps.staging import Counts
from mailfold.steps.unit import Excluded, UnitOfWork
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

#: So often must a record kill the worker that folds it alone before it is set aside.
DEATHS = 3
#: With less time than this left, records go back to the queue instead of being cut off half way.
TIME_GUARD_MS = 10_000
#: So much of the time that is left may records that came before take together. The rest is for each of them alone.
GROUP_SHARE = 0.5
#: So long may a record take alone, waiting for the database included, before those behind it are folded without it.
ALONE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class ProcessContext:
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


def process(records: Sequence[Record], context: ProcessContext) -> Outcome:
    """Fold the batch; whatever is not committed is reported as failed and comes again."""
    outcome = Outcome()
    _process_group([record for record in records if record.receive_count == 1], context, outcome)
    _process_redelivered([record for record in records if record.receive_count > 1], context, outcome)
    _report(outcome, context.telemetry)
    return outcome


def _process_redelivered(records: Sequence[Record], context: ProcessContext, outcome: Outcome) -> None:
    """Fold records that came before in a child process, because one of them may be what killed their worker."""
    if not records:
        return
    if not is_possible():
        _process_group(records, context, outcome)
        return
    ending = _in_child([records], context, outcome).ending if len(records) > 1 else Ending.DIED
    if ending in {Ending.DIED, Ending.STUCK}:
        _process_suspects(records, context, outcome)
    elif ending is not Ending.FINISHED:
        _give_back(records, context, outcome)


def _process_suspects(suspects: Sequence[Record], context: ProcessContext, outcome: Outcome) -> None:
    """Fold one record at a time; what dies alone goes behind all others, and is set aside when it has died often."""
    line = list(suspects)
    deaths = Counter[str]()
    while line:
        report = _in_child([[record] for record in line], context, outcome)
        line = line[len(report.results) :]
        if report.ending in {Ending.OUT_OF_TIME, Ending.STOPPED}:
            _give_back(line, context, outcome)
            return
        if report.ending is Ending.STUCK:
            # That it waits says nothing about it, so it is never set aside; it only holds up nothing else.
            _give_back([line.pop(0)], context, outcome)
        if report.ending is Ending.DIED:
            killer = line.pop(0)
            deaths[killer.record_id] += 1
            if deaths[killer.record_id] < DEATHS:
                line.append(killer)
            else:
                _bury_killer(killer, report.exit_code, context, outcome)


def _in_child(groups: Sequence[Sequence[Record]], context: ProcessContext, outcome: Outcome) -> Report[Outcome]:
    """Fold each group in one transaction, all of them in one child process; add what came of those that it got to."""

    def fold(group: Sequence[Record]) -> Outcome:
        part = Outcome()
        try:
            _process_group(group, apart, part)
        except MemoryError:
            raise
        except Exception as surprise:
            part = Outcome(failed=[record.record_id for record in group])
            context.telemetry.warn("failed", records=len(group), reason=type(surprise).__name__)
        return part

    # The connection of this process is not for its child: both would read the same answers.
    apart = replace(context, database=context.database.sibling())
    seconds = (context.remaining_ms() - TIME_GUARD_MS) / 1000
    each = ALONE_SECONDS if all(len(group) == 1 for group in groups) else seconds * GROUP_SHARE
    report = run_in_child(fold, groups, seconds=seconds, seconds_each=each)
    for part in report.results:
        outcome.failed.extend(part.failed)
        outcome.counts.extend(part.counts)
    if report.ending is Ending.DIED:
        context.telemetry.warn("worker died", records=len(groups) - len(report.results), exit_code=report.exit_code)
    return report


def _bury_killer(record: Record, exit_code: int | None, context: ProcessContext, outcome: Outcome) -> None:
    reason = f"its worker died {DEATHS} times while it was folded alone, with exit code {exit_code}"
    try:
        outcome.counts.extend(_unit(context).dead_letter_record(record, "killed_its_worker", reason))
    except TransientStoreError as failure:
        outcome.failed.append(record.record_id)
        context.telemetry.warn("rolled back", records=1, reason=str(failure))


def _give_back(records: Sequence[Record], context: ProcessContext, outcome: Outcome) -> None:
    outcome.failed.extend(record.record_id for record in records)
    context.telemetry.warn("out of time", records=len(records))


def _process_group(group: Sequence[Record], context: ProcessContext, outcome: Outcome) -> None:
    """Fold a group in one transaction; on a value that Postgres refuses, halve it until that record stands alone."""
    if not group:
        return
    if context.remaining_ms() < TIME_GUARD_MS:
        _give_back(group, context, outcome)
        return
    try:
        outcome.counts.extend(_unit(context).run(group))
    except TransientStoreError as failure:
        outcome.failed.extend(record.record_id for record in group)
        context.telemetry.warn("rolled back", records=len(group), reason=str(failure))
    except Excluded as excluded:
        outcome.failed.extend(record.record_id for record in excluded.records)
        context.telemetry.warn("failed", records=len(excluded.records), reason=excluded.reason)
        _process_group([record for record in group if record not in excluded.records], context, outcome)
    except DataRejected as refusal:
        context.telemetry.warn("isolating", records=len(group), reason=str(refusal))
        if len(group) == 1:
            _process_alone(group[0], context, outcome)
        else:
            middle = len(group) // 2
            _process_group(group[:middle], context, outcome)
            _process_group(group[middle:], context, outcome)


def _process_alone(record: Record, context: ProcessContext, outcome: Outcome) -> None:
    """Fold the events of one record one by one; where even that is refused, keep the record whole."""
    unit = _unit(context)
    try:
        try:
            outcome.counts.extend(unit.run([record], one_by_one=True))
        except DataRejected as refusal:
            outcome.counts.extend(unit.dead_letter_record(record, "refused_by_store", str(refusal)))
    except TransientStoreError as failure:
        outcome.failed.append(record.record_id)
        context.telemetry.warn("rolled back", records=1, reason=str(failure))


def _unit(context: ProcessContext) -> UnitOfWork:
    return UnitOfWork(
        database=context.database,
        sources=context.sources,
        topics=context.topics,
        publish=context.publish,
        remaining_ms=context.remaining_ms,
    )


def _report(outcome: Outcome, telemetry: Telemetry) -> None:
    for source, total in _totals(outcome.counts).items():
        telemetry.count("EventsNew", total.new, source=source)
        telemetry.count("EventsDuplicate", total.duplicate, source=source)
        telemetry.count("EventsConflict", total.conflict, source=source)
        telemetry.count("EventsDeadLettered", total.dead, source=source)
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
