"""mailfold erase: take a person's address out of every table, and print the proof."""

import argparse
import sys
from typing import Any

from cli.ask import confirm
from cli.errors import DONE, FOUND
from cli.place import Place
from cli.progress import Progress
from cli.show import as_json, table
from mailfold.redaction import Redaction

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
        counted = _rows(_pass(place, "erase.verify", address, "count")[0])
        if not arguments.apply:
            return _report(arguments, {"applied": False, "tables": counted, "stops_before": stops})
        print(_lines(counted), file=sys.stderr)
        confirm("This cannot be taken back.", answer=address)
    changed, form = _pass(place, "erase", address, "erase")
    left, _ = _pass(place, "erase.verify", address, "prove")
    # A scope that names the address is called by its erased form now.
    redaction = Redaction(address, form)
    before = sorted({redaction.redact_id(scope, owner=address) for scope in stops})
    told: dict[str, Any] = {"applied": True, "tables": _rows(changed, left)}
    return _report(arguments, {**told, "stops_before": before, "stops_after": _stops(place, address)})


def _stops(place: Place, address: str) -> list[str]:
    """Return the scopes in which an address is stopped, whether or not its person is erased."""
    explained = place.order("suppressions.explain", address=address)
    return sorted({scope["scope"] for scope in explained["scopes"] if scope["suppressed"]})


def _pass(place: Place, command: str, address: str, label: str) -> tuple[Tables, str]:
    """Give an order page by page until every table is looked through; return what it counted, and the erased form."""
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
            return tables, page.get("erased_form", "")


def _rows(done: Tables, proof: Tables | None = None) -> list[dict[str, Any]]:
    """Return a line for each table; the proof knows tables that nothing is changed in."""
    nothing = dict.fromkeys(("looked_at", "found", "similar", "changed"), 0)
    rows = []
    for name in [*done, *(name for name in proof or {} if name not in done)]:
        counts, left = done.get(name, nothing), (proof or {}).get(name, nothing)
        rows.append(
            {
                "table": name,
                "looked_at": max(counts["looked_at"], left["looked_at"]),
                "found": counts["found"],
                "changed": counts["changed"] if proof else None,
                "left": left["found"] if proof else None,
                # Counted behind the change: before it, a row may hold both.
                "similar": left["similar"] if proof else counts["similar"],
            }
        )
    return rows


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
        print(
            "mailfold: a stop is gone; suppressions explain tells whether a newer lift was joined to it",
            file=sys.stderr,
        )
    if left:
        print("mailfold: run it again; what is left over came meanwhile or was being changed", file=sys.stderr)
        print(
            "mailfold: in a table of your own, remove it yourself: erase changes only the tables of Mailfold",
            file=sys.stderr,
        )
    return DONE if kept and not left else FOUND


def _lines(rows: list[dict[str, Any]]) -> str:
    columns = {"table": "table", "looked at": "looked_at", "found": "found", "changed": "changed", "left": "left"}
    return table(rows, {**columns, "similar": "similar"})
