"""A change that is tried first and done only when a person says so."""

import argparse
import sys

from cli.errors import CommandError


def add_redrive_options(parser: argparse.ArgumentParser, *, rate: int) -> None:
    """Add what every redrive can be told."""
    parser.add_argument("--apply", action="store_true", help="do it, after the trial run")
    parser.add_argument("--yes", action="store_true", help="do not ask before it is done")
    parser.add_argument("--rate", type=positive, default=rate, metavar="N", help=f"at most so many a second ({rate})")


def positive(text: str) -> int:
    """Read a number that must be 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def confirmed(arguments: argparse.Namespace, question: str) -> bool:
    """Ask the person, unless they have answered already."""
    if arguments.yes:
        return True
    if not sys.stdin.isatty():
        raise CommandError("nobody is there to be asked: --yes goes on without asking")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    raise CommandError("nothing was changed")
