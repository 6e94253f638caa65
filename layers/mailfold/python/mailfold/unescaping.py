"""A text without the escapes that it is written in, and an address without the words for its signs."""

import html
import re
import unicodedata
from functools import cache
from urllib.parse import unquote

#: What is escaped within an escape within an escape is still found; more than that is not read by anybody.
DEPTH = 5

# The texts are hostile: each pattern looks at a character a bounded number of times, wherever a search begins.
_ESCAPED = r"\\{1,8}+"
_UTF16 = re.compile(rf"(?:{_ESCAPED}u[0-9a-fA-F]{{4}})+")
_UNIT = re.compile(r"u([0-9a-fA-F]{4})")
_LATIN = re.compile(rf"{_ESCAPED}x([0-9a-fA-F]{{2}})")
_BLANK = re.compile(rf"{_ESCAPED}[bfnrt]")
_SIGNED = re.compile(rf"{_ESCAPED}([\"'/])")
_PRINTABLE = re.compile(r"(?:=[2-7cdefCDEF][0-9a-fA-F]|=0[adAD]|=[89abAB][0-9a-fA-F])+")
#: Python refuses to read numbers of thousands of digits; no character has one of more than seven.
_LONG_NUMBER = re.compile(r"&#([0-9]{8,}+)")
_BEFORE = r"(?:(?<!\s)\s++)?+"
_AT = re.compile(rf"{_BEFORE}[\[({{<]\s?at\s?[\])}}>]\s*|(?<!\s)\s++at\s+|{_BEFORE}@\s*", re.IGNORECASE)
_DOT = re.compile(rf"{_BEFORE}[\[({{<]\s?dot\s?[\])}}>]\s*|(?<!\s)\s++dot\s+", re.IGNORECASE)
#: Marks above and below letters are put in order when they are composed, in a time that grows with their square.
_MARKS_IN_A_ROW = 30
#: Takes part in no composition; Unicode's format for streams puts it between marks as well.
_JOINER = "\u034f"


def decoded(text: str, *, printable: bool = True) -> str:
    """Return a text without its escapes; `printable` says whether an equals sign may begin one."""
    for _ in range(DEPTH):
        before = text
        text = html.unescape(_LONG_NUMBER.sub(_shortened, unquote(text)))
        # Most texts hold none, and this is asked of the surroundings of every address.
        if "\\" in text:
            text = _without_backslashes(text)
        if printable and "=" in text:
            text = _PRINTABLE.sub(_octets, text)
        if text == before:
            break
    return text


def _without_backslashes(text: str) -> str:
    text = _UTF16.sub(_utf16, text)
    text = _LATIN.sub(lambda found: chr(int(found[1], 16)), text)
    text = _BLANK.sub(" ", text)
    return _SIGNED.sub(r"\1", text)


def with_signs(text: str) -> str:
    """Return a text with the signs of an address where words stand for them."""
    lowered = text.lower()
    if "@" in text or "at" in lowered:
        text = _AT.sub("@", text)
    return _DOT.sub(".", text) if "dot" in lowered else text


def folded(text: str) -> str:
    """Return a text composed, and its letters the same in capitals and not."""
    return _composed(_composed(text).casefold()).casefold()


def _composed(text: str) -> str:
    if not text.isascii():
        text = _many_marks().sub(rf"\g<0>{_JOINER}", text)
    return unicodedata.normalize("NFKC", text)


@cache
def _many_marks() -> re.Pattern[str]:
    # Some letters of half width become marks when they are composed.
    marks = "".join(
        char for char in map(chr, range(0x20000)) if unicodedata.combining(unicodedata.normalize("NFKD", char)[0])
    )
    return re.compile(f"[{re.escape(marks)}]{{{_MARKS_IN_A_ROW}}}")


def _shortened(found: re.Match[str]) -> str:
    return f"&#{found[1].lstrip('0')[:8] or '0'}"


def _utf16(found: re.Match[str]) -> str:
    units = "".join(_UNIT.findall(found.group()))
    return bytes.fromhex(units).decode("utf-16-be", "replace")


def _octets(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("=", "")).decode("utf-8", "replace")
