"""Cells that a spreadsheet would take for a formula, made harmless and back."""

import re

# https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def harmless(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would calculate; before one that is there already, another."""
    return f"'{text}" if _FORMULA.match(text) else text


def plain(text: str) -> str:
    """Return what `harmless` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
