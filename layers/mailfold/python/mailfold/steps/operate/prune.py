"""prune.count: what the next prune would delete."""

from typing import Any

from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.prune import cutoffs
from mailfold.store.reading import read

#: Counting more would only take longer: nobody decides otherwise at eleven million.
MOST_ROWS = 10_000_000


def count(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return for each table its window, how many rows are past it and the oldest of them; nothing is deleted."""
    with context.database.transaction() as tx:
        rows = read(tx, "prune_count", {**cutoffs(context.retention, context.now), "most": MOST_ROWS})
    return {"tables": [{**row, "days": context.retention[row["table"]]} for row in rows], "most": MOST_ROWS}
