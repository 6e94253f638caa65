"""mailfold erase: take a person's address out of every table, and print the proof."""

import argparse
import sys
from typing import Any

from cli.ask import confirm
from cli.errors import DONE, FOUND
from cli.place import Place
from cli.progress import Progress
from cli.show import as_json, table

Tables = dict[str, dict[str, int]]


def add_parsers(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("erase", help="erase a person; what the address decided stays decided")
    parser.add_argument("address", metavar="ADDRESS")
    parser.add_argument("--apply", action="store_true", help="do it; without this, only count")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=erase)


def erase(arguments: argparse.Namespace, place: Place) -> int:
    """Count the rows that name an address, erase it from them, and count again."""
    address = arguments.address.strip().lower()
    stops = _stops(place, address)
    if not (arguments.apply and arguments.yes):
        counted = _rows(_pass(place, "erase.verify", address, "count"))
        if not arguments.apply:
            return _report(arguments, {"applied": False, "tables": counted, "stops_before": stops})
        print(_lines(counted), file=sys.stderr)
        confirm("This cannot be taken back.", answer=address)
    changed = _pass(place, "erase", address, "erase")
    told: dict[str, Any] = {"applied": True, "tables": _rows(changed, _pass(place, "erase.verify", address, "prove"))}
    told |= {"stops_before": stops, "stops_after": _stops(place, address)}
    return _report(arguments, told)


def _stops(place: Place, address: str) -> list[str]:
    """Return the scopes in which an address is stopped, whether or not its person is erased."""
    explained = place.order("suppressions.explain", address=address)
    return sorted({scope["scope"] for scope in explained["scopes"] if scope["stopped"]})


def _pass(place: Place, command: str, address: str, label: str) -> Tables:
    """Give an order page by page until every table is looked through."""
    tables: Tables = {}
    progress: Progress | None = None
    after = None
    while True:
        page = place.order(command, address=address, after=after)
        for name, counts in page["tables"].items():
            known = tables.setdefault(name, dict.fromkeys(counts, 0))
            tables[name] = {count: known[count] + number for count, number in counts.items()}
        after = page["next"]
        looked_at = sum(counts["looked_at"] for counts in tables.values())
        # What Postgres believes to have may be behind.
        progress = progress or Progress(label, max(page["rows"], looked_at))
        progress.reach(looked_at)
        if after is None:
            return tables


def _rows(done: Tables, left: Tables | None = None) -> list[dict[str, Any]]:
    """Return a line for each table; what was changed and what is left is unknown as long as nothing was done."""
    return [
        {
            "table": name,
            "looked_at": counts["looked_at"],
            "found": counts["found"],
            "changed": counts["changed"] if left else None,
            "left": left[name]["found"] if left else None,
            "similar": counts["similar"],
        }
        for name, counts in done.items()
    ]


def _report(arguments: argparse.Namespace, told: dict[str, Any]) -> int:
    """Print the proof; whatever is left over, or a stop that is gone, is a finding."""
    kept = not told["applied"] or told["stops_after"] == told["stops_before"]
    left = sum(row["left"] or 0 for row in told["tables"])
    if arguments.json:
        print(as_json({**told, "left": left, "stops_kept": kept}))
        return DONE if kept and not left else FOUND
    print(_lines(told["tables"]))
    if not told["applied"]:
        print("nothing was changed; --apply erases")
        return DONE
    print(f"rows that still name the address: {left}")
    print(f"scopes in which it is stopped: {len(told['stops_before'])} before, {len(told['stops_after'])} after")
    if any(row["similar"] for row in told["tables"]):
        print("similar: rows that hold a longer text with the address in it, such as another person's; left alone")
    if not kept:
        print("mailfold: a stop is gone; a newer lift was joined to it? suppressions explain tells", file=sys.stderr)
    if left:
        print("mailfold: run it again; what is left over came meanwhile or was being changed", file=sys.stderr)
    return DONE if kept and not left else FOUND


def _lines(rows: list[dict[str, Any]]) -> str:
    columns = {"table": "table", "looked at": "looked_at", "found": "found", "changed": "changed", "left": "left"}
    return table(rows, {**columns, "similar": "similar"})
