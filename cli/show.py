"""What a command prints: a table for people, JSON for programs, and what it is doing meanwhile."""

import contextlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: A time as the functions write it: always UTC.
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)")


def as_json(value: Any) -> str:
    """Return a value as programs read it."""
    return json.dumps(value, indent=2, default=str)


def table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """Return rows as aligned columns; `columns` maps a heading to the field below it."""
    if not rows:
        return "nothing"
    lines = [list(columns), *([cell(row.get(name)) for name in columns.values()] for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def fields(value: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return one thing as lines of a name and what it is."""
    width = max(len(label) for label in names)
    return "\n".join(f"{label.ljust(width)}  {cell(value.get(name))}" for label, name in names.items())


def cell(value: Any) -> str:
    """Return a value as it stands in a table: times short, true and false as words, nothing as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict | list):
        return json.dumps(value, default=str)
    moment = _MOMENT.fullmatch(str(value))
    return f"{moment[1]} {moment[2]}Z" if moment else plain(str(value))


def plain(text: str) -> str:
    """Return a text that no terminal obeys: a provider's words may hold line ends and control characters."""
    return "".join(char if char.isprintable() else " " for char in text)


@contextlib.contextmanager
def working(sentence: str) -> Iterator[None]:
    """Say on a terminal what is being done, for as long as it takes."""
    shown = sys.stderr.isatty()
    if shown:
        print(f"{plain(sentence)} …", end="\r", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print(" " * (len(sentence) + 2), end="\r", file=sys.stderr, flush=True)
