"""mailfold suppressions: look through the suppression list, change it manually, and carry it in and out."""

import argparse
import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cli.ask import confirm
from cli.errors import DONE, FOUND, CommandError
from cli.files import private_file
from cli.place import Place
from cli.progress import Progress
from cli.show import as_json, fields, table
from cli.suppression_exports import EXPORTS, Writer
from cli.suppression_file_formats import Reading, read_file, read_time
from cli.suppression_files import STOP_LISTS

REASONS = ("bounced", "complained", "unsubscribed", "dropped", "soft_bounces", "manual", "other")
#: Well below what one call of a function takes, with long reasons in it.
PAGE_ROWS = 500
#: More bad lines than this are counted, not shown.
SHOWN_BAD = 20


def add_parsers(commands: Any) -> None:
    """Add the command and what it can do."""
    parts = commands.add_parser("suppressions", help="addresses that must not be mailed").add_subparsers(
        dest="part", required=True, metavar="WHAT"
    )
    listing = parts.add_parser("list", help="stopped addresses, in order")
    listing.add_argument("--reason", choices=REASONS)
    listing.add_argument("--all", action="store_true", help="also those that are lifted")
    listing.add_argument("--most", type=int, default=100, help="how many (100; 0 for all)")
    listing.set_defaults(run=show_list)
    for name, run, help_text in (
        ("add", add, "stop an address until it is lifted manually"),
        ("lift", lift, "lift whatever stopped an address so far"),
    ):
        parser = parts.add_parser(name, help=help_text)
        parser.add_argument("address", metavar="ADDRESS")
        parser.add_argument("--reason", required=True, help="why; kept beside the decision")
        parser.add_argument("--scope", default="", help="such as group:10; without it every mail")
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.set_defaults(run=run)
    why = parts.add_parser("explain", help="why an address is stopped, since when, who lifted it")
    why.add_argument("address", metavar="ADDRESS")
    why.set_defaults(run=explain)
    _add_files(parts)


def _add_files(parts: Any) -> None:
    into = parts.add_parser("import", help="take in a suppression list of a provider, or our own")
    into.add_argument("file", type=Path, metavar="FILE", help="CSV, or the JSON of the provider's API")
    into.add_argument("--format", choices=sorted(STOP_LISTS), help="what the columns do not tell")
    into.add_argument("--scope", help="for rows that name none, such as stream:broadcast")
    into.add_argument("--at", help="the time of rows that state none, such as 2026-01-31T00:00:00Z")
    into.add_argument("--skip-bad", action="store_true", help="import the good rows though there are bad ones")
    into.add_argument("--yes", action="store_true", help="do not ask")
    into.set_defaults(run=import_file)
    out = parts.add_parser("export", help="write what is stopped now as CSV")
    out.add_argument("--format", choices=sorted(EXPORTS), default="mailfold")
    out.add_argument("--output", type=Path, metavar="FILE", help="a new file; without it standard output")
    out.set_defaults(run=export)


def show_list(arguments: argparse.Namespace, place: Place) -> int:
    """Show stopped addresses."""
    rows: list[dict[str, Any]] = []
    for row in _pages(place, "suppressions.list", active=not arguments.all, reason=arguments.reason):
        if arguments.most and len(rows) == arguments.most:
            print(f"mailfold: there are more than {arguments.most}; --most 0 shows all", file=sys.stderr)
            break
        rows.append(row)
    columns = {"address": "address", "scope": "scope", "suppressed": "suppressed", "reason": "reason", "since": "since"}
    print(as_json({"suppressions": rows}) if arguments.json else table(rows, columns))
    return DONE


def add(arguments: argparse.Namespace, place: Place) -> int:
    """Stop an address."""
    return _decide(arguments, place, "suppressions.add")


def lift(arguments: argparse.Namespace, place: Place) -> int:
    """Lift what stops an address, once it is clear what that is."""
    if not arguments.yes:
        found = place.order("suppressions.explain", address=arguments.address)
        for scope in found["scopes"]:
            if scope["scope"] == arguments.scope and scope["suppressed"]:
                print(f"it is stopped: {scope['because']}", file=sys.stderr)
        confirm("It will be mailed again.")
    return _decide(arguments, place, "suppressions.lift")


def _decide(arguments: argparse.Namespace, place: Place, command: str) -> int:
    result = place.order(command, address=arguments.address, scope=arguments.scope, reason=arguments.reason)
    if arguments.json:
        print(as_json(result))
        return DONE
    suppressed = any(row["suppressed"] and row["scope"] == result["scope"] for row in result["suppressions"])
    where = f" in {result['scope']}" if result["scope"] else ""
    print(f"{result['address']} {'must not' if suppressed else 'may'} be mailed{where}")
    return DONE


def explain(arguments: argparse.Namespace, place: Place) -> int:
    """Show why an address is or was stopped."""
    found = place.order("suppressions.explain", address=arguments.address)
    if arguments.json:
        print(as_json(found))
        return DONE
    print("may be mailed" if found["may_be_mailed"] else "must not be mailed")
    for scope in found["scopes"]:
        names = {"suppressed": "suppressed", "because": "because", "since": "since", "first stop": "first_suppress"}
        names |= {
            "last stop": "last_suppress",
            "soft bounces": "soft_suppress",
            "manual": "manual",
            "lifted": "lifted",
        }
        print(f"\n{scope['scope'] or 'every mail'}{' (the person is erased)' if scope['erased'] else ''}")
        print(fields(scope, {label: name for label, name in names.items() if scope[name] is not None}))
    print("\nevents that bear on it")
    columns = {"time": "occurred_at", "type": "type", "class": "bounce_class", "effect": "effect", "scope": "scope"}
    print(table(found["events"], {**columns, "source": "source", "reason": "reason"}))
    print("\ndecisions manually")
    print(table(found["decisions"], {"time": "at", "by": "by", "action": "action", "details": "details"}))
    return DONE


def import_file(arguments: argparse.Namespace, place: Place) -> int:
    """Show what a file would do, ask, and do it."""
    reading = _read(arguments)
    _report_bad(reading)
    if reading.bad and not arguments.skip_bad:
        raise CommandError(f"{len(reading.bad)} rows are bad and nothing was imported; --skip-bad imports the others")
    foreseen = _send(place, reading, "read", apply=False)
    told = {"format": reading.kind.name, **foreseen, "repeated": reading.repeated, "bad": len(reading.bad)}
    names = {"format": "format", "rows": "rows", "new": "new", "known already": "known"}
    names |= {"stopped already": "suppressed", "repeated in the file": "repeated", "bad": "bad"}
    if not arguments.json:
        print(fields(told, names))
    if not arguments.yes:
        confirm(f"{foreseen['new']} rows will be imported.")
    done = _send(place, reading, "import", apply=True)
    print(as_json({**told, "imported": done["new"]}) if arguments.json else f"imported {done['new']}")
    return FOUND if reading.bad else DONE


def _read(arguments: argparse.Namespace) -> Reading:
    try:
        at = read_time(arguments.at) if arguments.at else None
        data = arguments.file.read_bytes()
    except (OSError, ValueError) as exc:
        raise CommandError(str(exc)) from exc
    reading = read_file(data, kind=arguments.format, at=at, scope=arguments.scope, now=datetime.now(UTC))
    if not reading.rows and not reading.bad:
        raise CommandError("the file has no rows")
    return reading


def _report_bad(reading: Reading) -> None:
    for line, why in reading.bad[:SHOWN_BAD]:
        print(f"line {line}: {why}", file=sys.stderr)
    if len(reading.bad) > SHOWN_BAD:
        print(f"and {len(reading.bad) - SHOWN_BAD} more", file=sys.stderr)


def _send(place: Place, reading: Reading, label: str, *, apply: bool) -> Counter[str]:
    """Hand the rows over page by page; what is done stays done, and a second import passes over it."""
    total: Counter[str] = Counter(rows=0, new=0, known=0, suppressed=0)
    progress = Progress(label, len(reading.rows))
    for begin in range(0, len(reading.rows), PAGE_ROWS):
        rows = reading.rows[begin : begin + PAGE_ROWS]
        total.update(place.order("suppressions.import", format=reading.kind.name, rows=rows, apply=apply))
        progress.advance(len(rows))
    return total


def export(arguments: argparse.Namespace, place: Place) -> int:
    """Write what is stopped now."""
    with private_file(arguments.output) if arguments.output else contextlib.nullcontext(sys.stdout) as file:
        writer = Writer(file, arguments.format)
        progress = None
        for row, total in _export_rows(place):
            progress = progress or Progress("export", total)
            progress.advance()
            writer.write(row)
    if arguments.json and arguments.output:
        told = {"written": writer.written, "left_out": writer.left_out, "calculating": writer.calculating}
        print(as_json({"format": arguments.format, **told}))
        return DONE
    if writer.left_out:
        print(f"mailfold: {writer.left_out} stops have no place in {arguments.format}", file=sys.stderr)
    if writer.calculating:
        print(
            f"mailfold: {writer.calculating} stops are not written because a spreadsheet would calculate their cells;"
            " `suppressions list --most 0` names them: enter them at the provider one by one",
            file=sys.stderr,
        )
    return DONE


def _export_rows(place: Place) -> Iterator[tuple[dict[str, Any], int]]:
    page = place.order("suppressions.export")
    total = page["total"]
    while True:
        yield from ((row, total) for row in page["suppressions"])
        if page["next"] is None:
            return
        page = place.order("suppressions.export", after=page["next"])


def _pages(place: Place, command: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    after = None
    while True:
        page = place.order(command, after=after, **arguments)
        yield from page["suppressions"]
        after = page["next"]
        if after is None:
            return
