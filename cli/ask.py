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
