"""prune: rows past their window, in bounded batches, until the work or the time runs out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from mailfold.errors import TransientStoreError
from mailfold.store.connection import Database
from mailfold.store.reading import read
from mailfold.telemetry import Telemetry

#: Small enough that a batch holds its row locks for moments, large enough that commits do not dominate.
BATCH_ROWS = 20_000
#: Tables whose rows are counted as they go. An event that changes between the two must end the batch, not be counted
#: and left; statuses change all the time, and nobody counts them.
COUNTED = {"events"}
ONE_SNAPSHOT = "set transaction isolation level repeatable read"
#: What one more batch may take at worst.
TIME_GUARD_MS = 65_000
#: Rows of a table that are counted as left over when time has run out; more than that is told as that many.
LEFT_ROWS = 1_000_000
#: With less time than this what is left is not counted, and the count itself gets no longer than LEFT_LIMIT.
LEFT_GUARD_MS = 20_000
LEFT_LIMIT = "set local statement_timeout = '10s'"


@dataclass(frozen=True, kw_only=True)
class PruneContext:
    """What prune works with."""

    database: Database
    #: Days that each table keeps its rows.
    retention: Mapping[str, int]
    now: datetime
    remaining_ms: Callable[[], int]
    telemetry: Telemetry


def prune(context: PruneContext) -> dict[str, int | bool | None]:
    """Delete what is past its window; suppressed at any point, the next run goes on from there."""
    pruned: dict[str, int] = {}
    finished = True
    for table in context.retention:
        pruned[table], done = _prune_table(table, context)
        finished = finished and done
    context.telemetry.count("PruneRuns")
    context.telemetry.count("RowsPruned", sum(pruned.values()))
    context.telemetry.count("PruneUnfinished", int(not finished))
    left = 0 if finished else _count_left(context)
    context.telemetry.say("pruned", **pruned, finished=int(finished), left=left)
    return {**pruned, "finished": finished, "left": left}


def cutoffs(retention: Mapping[str, int], now: datetime) -> dict[str, str]:
    """Return for each table the moment before which a row is past its window."""
    return {table: (now - timedelta(days=days)).isoformat() for table, days in retention.items()}


def _prune_table(table: str, context: PruneContext) -> tuple[int, bool]:
    cutoff = cutoffs(context.retention, context.now)[table]
    total, floor = 0, "-infinity"
    while context.remaining_ms() > TIME_GUARD_MS:
        with context.database.transaction() as tx:
            if table in COUNTED:
                tx.execute(ONE_SNAPSHOT)
            [[deleted, newest]] = tx.run(f"prune_{table}", {"floor": floor, "cutoff": cutoff, "batch": BATCH_ROWS})
        total += deleted
        # Null where a table is not taken in order.
        floor = newest.isoformat() if newest else floor
        if deleted < BATCH_ROWS:
            return total, True
    return total, False


def _count_left(context: PruneContext) -> int | None:
    """Count what the next run will find, up to a limit; None where there is no time even for that."""
    if context.remaining_ms() < LEFT_GUARD_MS:
        return None
    try:
        with context.database.transaction() as tx:
            tx.execute(LEFT_LIMIT)
            tables = read(tx, "prune_count", {**cutoffs(context.retention, context.now), "most": LEFT_ROWS})
    except TransientStoreError:
        return None
    return sum(int(table["rows"]) for table in tables)
