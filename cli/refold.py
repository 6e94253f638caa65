"""mailfold refold: what another rule would stop or release."""

import argparse
from typing import Any

from cli.errors import DONE, CommandError
from cli.paging import pages
from cli.place import Place
from cli.replay import SHOWN
from cli.show import as_json

FOR_REAL = {
    "soft_limit": "to make it real: set soft_bounce_limit in cdk.json and deploy; the next sweep stops and releases",
    "classes": "to make it real: change the class in the provider's file, deploy, then bin/mailfold replay --apply",
}


def add_parsers(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("refold", help="tell what another rule would stop or release; changes nothing")
    parser.add_argument("--soft-limit", type=int, metavar="N", help="soft bounces in a row that stop an address")
    parser.add_argument(
        "--class",
        dest="classes",
        action="append",
        default=[],
        metavar="CODE=CLASS",
        help="the class of a bounce whose reason holds this code, such as 5.2.2=soft; may be given again",
    )
    parser.set_defaults(run=refold)


def refold(arguments: argparse.Namespace, place: Place) -> int:
    """Show which addresses would be stopped and which released."""
    rule = {"soft_limit": arguments.soft_limit, "classes": _classes(arguments.classes)}
    found: dict[str, Any] = {"addresses": 0, "bounces": 0, "suppressed": [], "lifted": []}
    for page in pages(place, "refold", **rule):
        found = {name: value + page[name] for name, value in found.items()}
    if arguments.json:
        print(as_json(found))
        return DONE
    print(f"{found['addresses']} addresses were looked at, {found['bounces']} of their bounces with another class")
    for change in ("suppressed", "lifted"):
        _show(change, found[change])
    for name, sentence in FOR_REAL.items():
        if rule[name]:
            print(sentence)
    return DONE


def _classes(given: list[str]) -> dict[str, str] | None:
    pairs = dict(item.partition("=")[::2] for item in given)
    if not all(pairs.values()):
        raise CommandError("a class is named like --class 5.2.2=soft")
    return pairs or None


def _show(change: str, pairs: list[tuple[str, str]]) -> None:
    print(f"{len(pairs)} would be {change}")
    for address, scope in pairs[:SHOWN]:
        print(f"  {address}  {scope}".rstrip())
    if len(pairs) > SHOWN:
        print(f"  and {len(pairs) - SHOWN} more; --json has all of them")
