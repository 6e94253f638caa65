"""A question that a person must answer before something is changed."""

import sys

from cli.errors import CommandError


def agreed(question: str, *, yes: bool) -> bool:
    """Tell whether the person agrees; --yes answers for them, and nobody at a terminal means no answer."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise CommandError("nobody is there to agree: add --yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def confirm(question: str, *, answer: str = "yes") -> None:
    """Go on only when the answer is typed; where nobody can type, --yes must have been said."""
    if not sys.stdin.isatty():
        raise CommandError("nobody is there to confirm it: say --yes")
    print(f"{question} Type {answer} to go on: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != answer:
        raise CommandError("nothing was changed")
