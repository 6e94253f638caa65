"""The demo's audit: what the database holds, compared with what was sent."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import pg8000.native

from local.traffic import Plan

# Rows are found by the marker inside the raw event, so that a row stored under a wrong id is seen too.
STORED = """
select payload #>> cast(:path as text[]) as marker
from email_events
where source = :source and payload #>> cast(:path as text[]) like :run || '-%'
"""
DEAD = "select count(*) from dead_letters where source = :source and position(:run in raw) > 0"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One source's line of the audit."""

    source: str
    sent: int
    stored: int
    #: Further copies of events that were sent, and how many of them left no row.
    copies: int
    absorbed: int
    forged: int
    refused: int
    accepted: int
    dead: int
    lost: int
    doubled: int

    @property
    def clean(self) -> bool:
        """Whether this is exactly once, and only from honest senders."""
        return not (self.lost or self.doubled or self.accepted or self.dead) and self.refused == self.forged


def audit_source(connection: pg8000.native.Connection, plan: Plan, path: Iterable[str], run: str, refused: int) -> Line:
    """Audit one source; `refused` counts the forged requests that were answered 401."""
    found = stored_markers(connection, plan.source, path, run)
    stored = sum(found[marker] > 0 for marker in plan.markers)
    doubled = sum(max(0, found[marker] - 1) for marker in plan.markers)
    ((dead,),) = connection.run(DEAD, source=plan.source, run=run)
    return Line(
        source=plan.source,
        sent=len(plan.markers),
        stored=stored,
        copies=plan.copies,
        absorbed=plan.copies - doubled,
        forged=len(plan.forged_markers),
        refused=refused,
        # A marker that was never sent, such as one with a changed byte, is as bad as a forged one.
        accepted=sum(count for marker, count in found.items() if marker not in plan.markers),
        dead=dead,
        lost=len(plan.markers) - stored,
        doubled=doubled,
    )


def stored_markers(connection: pg8000.native.Connection, source: str, path: Iterable[str], run: str) -> Counter[str]:
    """Count the rows of each marker of one run."""
    rows: Any = connection.run(STORED, source=source, path=list(path), run=run)
    return Counter(marker for (marker,) in rows)


def total(lines: Iterable[Line]) -> Line:
    """Add the lines up."""
    sums: Counter[str] = Counter()
    for line in lines:
        sums.update({name: value for name, value in asdict(line).items() if name != "source"})
    return Line(source="total", **{field.name: sums[field.name] for field in fields(Line) if field.name != "source"})


def table(lines: Iterable[Line]) -> str:
    """Write the lines as a table."""
    names = [field.name for field in fields(Line)]
    rows = [names, *([str(value) for value in asdict(line).values()] for line in lines)]
    return "\n".join(f"{row[0]:<18}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows)
