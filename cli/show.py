"""What a command prints: a table for people, JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def as_json(value: Any) -> str:
    """Return a value as programs read it."""
    return json.dumps(value, indent=2, default=str)


def table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """Return rows as aligned columns; `columns` maps a heading to the field below it."""
    if not rows:
        return "nothing"
    lines = [list(columns), *([_cell(row.get(name)) for name in columns.values()] for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def fields(value: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return one thing as lines of a name and what it is."""
    width = max(len(label) for label in names)
    return "\n".join(f"{label.ljust(width)}  {_cell(value.get(name))}" for label, name in names.items())


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict | list):
        return json.dumps(value, default=str)
    # A provider's words may hold line ends and control characters, which a terminal would obey.
    return "".join(char if char.isprintable() else " " for char in str(value))
