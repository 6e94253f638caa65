"""prune: rows past their window, in bounded batches, until the work or the time runs out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

#: Small enough that a batch holds its row locks for moments, large enough that commits do not dominate.
BATCH_ROWS = 20_000
#: Tables whose rows are counted as they go. An event that changes between the two must end the batch, not be counted
#: and left; statuses change all the time, and nobody counts them.
COUNTED = {"events"}
ONE_SNAPSHOT = "set transaction isolation level repeatable read"
#: What one more batch may take at worst.
TIME_GUARD_MS = 65_000


@dataclass(frozen=True, kw_only=True)
class Shears:
    """What prune works with."""

    database: Database
    #: Days that each table keeps its rows.
    retention: Mapping[str, int]
    now: datetime
    remaining_ms: Callable[[], int]
    telemetry: Telemetry


def prune(shears: Shears) -> dict[str, int | bool]:
    """Delete what is past its window; stopped at any point, the next run goes on from there."""
    pruned: dict[str, int | bool] = {}
    finished = True
    for table in shears.retention:
        pruned[table], done = _prune_table(table, shears)
        finished = finished and done
    shears.telemetry.count("PruneRuns")
    shears.telemetry.count("RowsPruned", sum(pruned.values()))
    shears.telemetry.count("PruneUnfinished", int(not finished))
    shears.telemetry.say("pruned", **pruned, finished=int(finished))
    return {**pruned, "finished": finished}


def _prune_table(table: str, shears: Shears) -> tuple[int, bool]:
    cutoff = (shears.now - timedelta(days=shears.retention[table])).isoformat()
    total, floor = 0, "-infinity"
    while shears.remaining_ms() > TIME_GUARD_MS:
        with shears.database.transaction() as tx:
            if table in COUNTED:
                tx.execute(ONE_SNAPSHOT)
            [[deleted, newest]] = tx.run(f"prune_{table}", {"floor": floor, "cutoff": cutoff, "batch": BATCH_ROWS})
        total += deleted
        # Null where a table is not taken in order.
        floor = newest.isoformat() if newest else floor
        if deleted < BATCH_ROWS:
            return total, True
    return total, False
