"""The ways in which one address is written: letters of every case, escapes, comments, and words for its signs."""

import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html.entities import html5

#: Some letters are one character for several: ß is ss in capitals. More than this many in a row are taken apart.
_WINDOW = 4
#: With so many letters on both sides of its @ an address is among few.
_RARE = 3

# A text is read in one way only: what a pattern may share out in several ways among the letters of an address is tried
# in all of them, and each letter multiplies them. So backslashes belong to what they are first counted for.
_BEHIND_BACKSLASH, _BEHIND_NONE = r"(?<=\\)", r"(?<!\\)"
_BACKSLASHES = r"\\{1,8}+"
_ESCAPED = rf"(?:{_BACKSLASHES}|{_BEHIND_BACKSLASH})"
_SIGN = rf"(?:{_BEHIND_NONE}{_BACKSLASHES}|)"
_PERCENT = "%(?:25){0,4}"
_QUOTE = rf'(?:{_SIGN}"|{_PERCENT}22|=22|&(?:amp;){{0,2}}(?:quot|#34|#x22);)'
#: What a mail header may hold between the parts of an address and mean nothing by it.
_GAP = rf"(?:\s|{_BACKSLASHES}[nrt]|\([^()]{{0,80}}+\)){{0,4}}"
_OPEN, _CLOSE = r"(?:\[|\(|\{|<)", r"(?:\]|\)|\}|>)"

#: Postgres spells each bounded repetition out, which makes a pattern too large for it.
_REPEATED = re.compile(r"\{(\d+),\d+\}\+?")
#: So much of either side of the @ is enough to find a row, and all that Postgres can take of a long one.
_ENOUGH = 64

_QUOTED_PAIR = re.compile(r"\\(.)")


def parts_of(address: str) -> tuple[str, str]:
    """Return the local part, without the quotes that it may be written in, and the domain."""
    name, _, domain = address.rpartition("@")
    if len(name) > 2 and name.startswith('"') and name.endswith('"'):
        name = _QUOTED_PAIR.sub(r"\1", name[1:-1])
    return name, domain


def loosely(address: str) -> str:
    """Return a regular expression for Postgres that finds every spelling, and texts that are none."""
    names, domains = _sides(address, _ENOUGH)
    return _for_postgres(rf"{names}{_QUOTE}?(?:{_at()}|{_one('=')}){domains}")


def around_the_sign(address: str) -> str:
    """Return a regular expression for Postgres that finds what stands around the @ of every spelling.

    Postgres takes ten times as long to look for a whole address as to find that this is not there.
    """
    name, domain = parts_of(address)
    hosts = {text for form in domain_forms(domain) for text in _texts(form)}
    ends = {"".join(_wild_windows(one, last=True)) for one in _texts(name)}
    starts = {"".join(_wild_windows(host, last=False)) for host in hosts}
    sign = f"{_QUOTE}?(?:{_at()}|{_one('=')})"
    return _for_postgres(f"(?:{'|'.join(sorted(ends))}){sign}(?:{'|'.join(sorted(starts))})")


def _for_postgres(pattern: str) -> str:
    # Postgres knows neither possessive nor atomic groups, and does not need them.
    pattern = pattern.replace(f"|{_BEHIND_BACKSLASH}", "").replace(_BEHIND_NONE, "").replace("(?>", "(?:")
    return _REPEATED.sub(lambda found: "*" if found[1] == "0" else "+", pattern)


def exactly(address: str) -> str:
    """Return a regular expression for Python that finds every spelling but return paths."""
    names, domains = _sides(address)
    return rf"(?P<quote>{_QUOTE})?{names}(?(quote){_QUOTE})(?:{_at()}){domains}"


def in_return_path(address: str) -> str:
    """Return a regular expression for Python that finds the address as a return path writes it."""
    names, domains = _sides(address)
    return f"{names}{_one('=')}{domains}"


def _sides(address: str, enough: int = sys.maxsize) -> tuple[str, str]:
    """Return patterns of what stands before the @ and behind it; of as much as is enough, next to the @."""
    name, domain = parts_of(address)
    domains = {text for form in domain_forms(domain) for text in _texts(form)}
    before = {_wild(_nearest(list(_windows(text))[::-1], enough)[::-1]) for text in _texts(name)}
    behind = {_wild(_nearest(_windows(text), enough)) for text in domains}
    return f"(?:{'|'.join(sorted(before))})", f"(?:{'|'.join(sorted(behind))})"


def _nearest(windows: Iterable[str], enough: int) -> list[str]:
    kept: list[str] = []
    length = 0
    for window in windows:
        if length >= enough:
            break
        kept.append(window)
        length += len(window)
    return kept


def domain_forms(domain: str) -> set[str]:
    """Return a domain as people write it and as DNS does."""
    return set(_domains(domain))


def _texts(text: str) -> set[str]:
    """Return a text folded, composed and decomposed: mail programs write either."""
    folded = text.casefold()
    return {folded, *(unicodedata.normalize(form, folded) for form in ("NFC", "NFD", "NFKC"))}


def _domains(domain: str) -> Iterator[str]:
    yield domain
    for convert in (_to_ascii, _to_unicode):
        try:
            yield convert(domain)
        except UnicodeError:
            continue


def _to_ascii(domain: str) -> str:
    return domain.encode("idna").decode("ascii")


def _to_unicode(domain: str) -> str:
    return domain.encode("ascii").decode("idna")


def _at() -> str:
    sign = _one("@")
    words = rf"{_GAP}{_OPEN}\s?at\s?{_CLOSE}{_GAP}|\s{{1,3}}at\s{{1,3}}"
    return f"{_GAP}(?:{sign}){_GAP}|{words}"


def _wild(windows: Iterable[str]) -> str:
    return "".join(_window(window) for window in windows)


def _wild_windows(text: str, *, last: bool) -> list[str]:
    """Return so much of the end, or of the start, of a text that it is rare; no letter that stands for two is cut."""
    windows = list(_windows(text))
    kept: list[str] = []
    while windows and sum(map(len, kept)) < _RARE:
        kept.insert(0 if last else len(kept), windows.pop(-1 if last else 0))
    return [_window(window) for window in kept]


def _windows(text: str) -> Iterator[str]:
    """Cut a text where no character stands for what is on both sides of the cut; backslashes stay together."""
    begin = 0
    while begin < len(text):
        backslashes = len(text) - begin - len(text[begin:].lstrip("\\"))
        end, at = begin + (backslashes or 1), begin
        while at < end and end - begin < _WINDOW:
            joined = [size for size in (2, 3) if text[at : at + size] in _folded() and at + size <= len(text)]
            end = max([end, *(at + size for size in joined)])
            at += 1
        yield text[begin:end]
        begin = end


def _window(text: str) -> str:
    if text.startswith("\\"):
        # Each may be doubled several times, and no two of them share out how often.
        ways = "|".join([*_escapes("\\"), r"\\"])
        return f"(?:{ways}){{{len(text)},{9 * len(text)}}}+"
    segmented = list(_segmented(text))
    return segmented[0] if len(segmented) == 1 else f"(?:{'|'.join(segmented)})"


def _segmented(text: str) -> Iterator[str]:
    if not text:
        yield ""
    for size in range(1, min(3, len(text)) + 1):
        head = text[:size]
        chars = [*([head] if size == 1 else []), *_folded().get(head, [])]
        if chars:
            yield from (f"{_one(chars)}{rest}" for rest in _segmented(text[size:]))


def _one(chars: Sequence[str]) -> str:
    # One class and not one way each: ways that match the same are tried one after the other, at every letter.
    # JSON within JSON doubles the backslashes at each level; in quotes a sign may have one of its own.
    plain = "".join(f"\\U{ord(char):08x}" for char in chars)
    sign = "" if chars[0].isalnum() or chars[0].isspace() else _SIGN
    ways = [f"{sign}[{plain}]", *(way for char in chars for way in _escapes(char))]
    return f"(?:{'|'.join(ways)})"


@cache
def _folded() -> Mapping[str, list[str]]:
    """Return for each text the characters that are the same but for their case."""
    found: dict[str, list[str]] = defaultdict(list)
    for code in range(0x1F000):
        char = chr(code)
        if (folded := char.casefold()) != char:
            found[folded].append(char)
    return dict(found)


@cache
def _names() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name, text in html5.items():
        if name.endswith(";"):
            found[text].append(name)
    return dict(found)


def _escapes(char: str) -> Iterator[str]:
    """Return the ways to write a character otherwise."""
    code = ord(char)
    octets = char.encode("utf-8", "surrogatepass")
    # An address in a link in a link is encoded once for each.
    yield "".join(f"{_PERCENT}{octet:02x}" for octet in octets)
    yield "".join(f"={octet:02x}" for octet in octets)
    units = char.encode("utf-16-be", "surrogatepass").hex()
    yield "".join(f"{_ESCAPED}u{units[at : at + 4]}" for at in range(0, len(units), 4))
    if code < 0x100:
        yield f"{_ESCAPED}x{code:02x}"
    names = "".join(f"|{name}" for name in _names().get(char, []))
    yield f"&(?:amp;){{0,2}}(?:#0{{0,4}}{code};|#x0{{0,4}}{code:x};{names})"
    if char == ".":
        yield rf"(?>{_GAP}{_OPEN}\s?dot\s?{_CLOSE}{_GAP})"
        yield r"\s{1,3}dot\s{1,3}+"
