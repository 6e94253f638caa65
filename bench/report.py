"""The report of a run: a table for the terminal, JSON for other programs, a picture for people."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figures import Figure, Section

FOLDER = Path(__file__).parent
JSON_FILE = FOLDER / "report.json"
#: Its table of what must be reached stands between two comments and is written again with every report.
PAGE = FOLDER.parent / "docs" / "performance.md"
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
MARKS = {True: "reached", False: "NOT reached", None: ""}


def table(sections: Sequence[Section]) -> str:
    """Return the figures as text, one line each."""
    rows: list[tuple[str, ...]] = [("figure", "median", "quartiles", "must be", "")]
    rows += [_row(figure) for section in sections for figure in section.figures]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    notes = [f"  {section.name}: {note}" for section in sections for note in section.notes]
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def _row(figure: Figure) -> tuple[str, ...]:
    bound = f"{figure.must[0]} {number(figure.must[1])}" if figure.must else ""
    spread = f"{number(figure.low)} .. {number(figure.high)}"
    return (figure.name, f"{number(figure.value)} {figure.unit}", spread, bound, MARKS[figure.reached])


def number(value: float) -> str:
    """Return a number with as many digits as mean something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def as_json(sections: Sequence[Section]) -> dict[str, Any]:
    """Return the report as data."""
    return {
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.machine()},
        "sections": {
            section.name: {
                "figures": [asdict(figure) | {"reached": figure.reached} for figure in section.figures],
                "curves": [asdict(curve) for curve in section.curves],
                "notes": section.notes,
            }
            for section in sections
        },
    }


def write(sections: Sequence[Section]) -> list[Path]:
    """Write the report; a part that was measured alone takes its place beside the others of earlier runs."""
    found = as_json(sections)
    known = json.loads(JSON_FILE.read_text())["sections"] if JSON_FILE.exists() else {}
    found["sections"] = {**known, **found["sections"]}
    JSON_FILE.write_text(json.dumps(found, indent=2) + "\n")
    return [JSON_FILE, *render(found)]


def render(found: Mapping[str, Any]) -> list[Path]:
    """Draw the picture of a report and write its table."""
    from bench.plot import SVG_FILE, draw

    draw(found)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + required(found) + END + rest.partition(END)[2])
    return [SVG_FILE, PAGE]


def required(found: Mapping[str, Any]) -> str:
    """Return the figures of which something is asked as a Markdown table."""
    figures = [figure for section in found["sections"].values() for figure in section["figures"] if figure["must"]]
    lines = ["| figure | must be | median | quartiles | |", "|---|---|---|---|---|"]
    for figure in figures:
        relation, bound = figure["must"]
        spread = f"{number(figure['low'])} .. {number(figure['high'])}"
        cells = (figure["name"], f"{relation} {bound:g}", number(figure["value"]), spread, MARKS[figure["reached"]])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
