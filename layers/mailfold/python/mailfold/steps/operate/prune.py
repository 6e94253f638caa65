"""prune.count: what the next prune would delete."""

from typing import Any

from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.office import Office
from mailfold.steps.prune import cutoffs
from mailfold.store.reading import read

#: Counting more would only take longer: nobody decides otherwise at eleven million.
MOST_ROWS = 10_000_000


def count(office: Office, arguments: Arguments) -> dict[str, Any]:
    """Return for each table its window, how many rows are past it and the oldest of them; nothing is deleted."""
    with office.database.transaction() as tx:
        rows = read(tx, "prune_count", {**cutoffs(office.retention, office.now), "most": MOST_ROWS})
    return {"tables": [{**row, "days": office.retention[row["table"]]} for row in rows], "most": MOST_ROWS}
