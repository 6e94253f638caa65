"""Ask whoever sits at the terminal before something is changed."""

import sys

from cli.errors import CommandError


def confirm(question: str, *, answer: str = "yes") -> None:
    """Go on only when the answer is typed; where nobody can type, --yes must have been said."""
    if not sys.stdin.isatty():
        raise CommandError("nobody is there to confirm it: say --yes")
    print(f"{question} Type {answer} to go on: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != answer:
        raise CommandError("nothing was changed")
