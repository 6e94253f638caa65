"""mailfold prune: delete what is past its window now, or show how much that is."""

import argparse
from typing import Any

from cli.errors import DONE, FOUND
from cli.place import Place
from cli.show import as_json, table


def add_parsers(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("prune", help="delete what is past its window, as every night")
    parser.add_argument("--dry-run", action="store_true", help="only count what would be deleted")
    parser.set_defaults(run=prune)


def prune(arguments: argparse.Namespace, place: Place) -> int:
    """Run prune, or count for it."""
    return _count(arguments, place) if arguments.dry_run else _prune(arguments, place)


def _count(arguments: argparse.Namespace, place: Place) -> int:
    found = place.order("prune.count")
    columns = {"table": "table", "days kept": "days", "rows past that": "rows", "oldest": "oldest_at"}
    print(as_json(found) if arguments.json else table(found["tables"], columns))
    return DONE


def _prune(arguments: argparse.Namespace, place: Place) -> int:
    answer = place.invoke("Prune", {})
    finished, left = answer["finished"], answer["left"]
    if arguments.json:
        print(as_json(answer))
    else:
        rows = [{"table": name, "rows": rows} for name, rows in answer.items() if name not in {"finished", "left"}]
        print(table(rows, {"table": "table", "rows deleted": "rows"}))
        known = "an unknown number of" if left is None else f"about {left}"
        print("nothing is left" if finished else f"time ran out: {known} rows are left for the next run")
    return DONE if finished else FOUND
