"""Cells that a spreadsheet would take for a formula, made harmless and back."""

import re

# https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"'*[=+\-@\t\r]")

# Of what an address may begin with. Behind a sign a spreadsheet needs more than letters and digits to do any harm, and
# an address such as +bob@example.com is an honest one.
_CALCULATING = re.compile(r"[=@\t\r]|[+-][^@]*[|!(]")


def calculates(cell: str) -> bool:
    """Tell whether a spreadsheet would do more with a cell than show it."""
    return _CALCULATING.match(cell) is not None


def harmless(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would calculate; before one that is there already, another."""
    return f"'{text}" if _FORMULA.match(text) else text


def plain(text: str) -> str:
    """Return what `harmless` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
