"""The ways in which one address is written: letters of every case, escapes, comments, and words for its signs."""

import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html.entities import html5
from urllib.parse import unquote

#: What is escaped within an escape within an escape is still found; more than that is not read by anybody.
DEPTH = 5
#: Some letters are one character for several: ß is ss in capitals. More than this many in a row are taken apart.
_WINDOW = 4
#: With so many letters on both sides of its @ an address is among few.
_RARE = 3

_ESCAPED = r"\\{1,8}"
_PERCENT = "%(?:25){0,4}"
_QUOTE = rf'(?:\\{{0,8}}"|{_PERCENT}22|=22|&(?:amp;){{0,2}}(?:quot|#34|#x22);)'
#: What a mail header may hold between the parts of an address and mean nothing by it.
_GAP = rf"(?:\s|{_ESCAPED}[nrt]|\([^()]{{0,80}}\)){{0,4}}"
_OPEN, _CLOSE = r"(?:\[|\(|\{|<)", r"(?:\]|\)|\}|>)"


def parts_of(address: str) -> tuple[str, str]:
    """Return the local part, without the quotes that it may be written in, and the domain."""
    name, _, domain = address.rpartition("@")
    if len(name) > 2 and name.startswith('"') and name.endswith('"'):
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    return name, domain


def loosely(address: str) -> str:
    """Return a regular expression for Postgres that finds every spelling, and texts that are none."""
    return "|".join(f"{name}{_QUOTE}?(?:{_at()}|{_one('=')}){domain}" for name, domain in _wild_parts(address))


def around_the_sign(address: str) -> str:
    """Return a regular expression for Postgres that finds what stands around the @ of every spelling.

    Postgres takes ten times as long to look for a whole address as to find that this is not there.
    """
    name, domain = parts_of(address)
    hosts = {text for form in domain_forms(domain) for text in _texts(form)}
    ends = {"".join(_wild_windows(one, last=True)) for one in _texts(name)}
    starts = {"".join(_wild_windows(host, last=False)) for host in hosts}
    return f"(?:{'|'.join(sorted(ends))}){_QUOTE}?(?:{_at()}|{_one('=')})(?:{'|'.join(sorted(starts))})"


def exactly(address: str) -> str:
    """Return a regular expression for Python that finds every spelling but return paths."""
    return "|".join(f"(?:{_QUOTE}{name}{_QUOTE}|{name})(?:{_at()}){domain}" for name, domain in _wild_parts(address))


def in_return_path(address: str) -> str:
    """Return a regular expression for Python that finds the address as a return path writes it."""
    return "|".join(f"{name}{_one('=')}{domain}" for name, domain in _wild_parts(address))


def _wild_parts(address: str) -> list[tuple[str, str]]:
    name, domain = parts_of(address)
    domains = {text for form in domain_forms(domain) for text in _texts(form)}
    return [(_wild(one), _wild(other)) for one in sorted(_texts(name)) for other in sorted(domains)]


def decoded(text: str, *, printable: bool = True) -> str:
    """Return a text without its escapes; `printable` says whether an equals sign may begin one."""
    for _ in range(DEPTH):
        before = text
        text = html.unescape(unquote(text))
        text = re.sub(rf"(?:{_ESCAPED}u[0-9a-fA-F]{{4}})+", _utf16, text)
        text = re.sub(rf"{_ESCAPED}x([0-9a-fA-F]{{2}})", lambda found: chr(int(found[1], 16)), text)
        text = re.sub(rf"{_ESCAPED}[bfnrt]", " ", text)
        text = re.sub(rf"{_ESCAPED}([\"'/])", r"\1", text)
        if printable:
            text = re.sub(r"(?:=[2-7cdefCDEF][0-9a-fA-F]|=0[adAD]|=[89abAB][0-9a-fA-F])+", _octets, text)
        if text == before:
            break
    return text


def with_signs(text: str) -> str:
    """Return a text with the signs of an address where words stand for them."""
    text = re.sub(r"\s*[\[({<]\s?at\s?[\])}>]\s*|\s+at\s+|\s*@\s*", "@", text, flags=re.IGNORECASE)
    return re.sub(r"\s*[\[({<]\s?dot\s?[\])}>]\s*|\s+dot\s+", ".", text, flags=re.IGNORECASE)


def domain_forms(domain: str) -> set[str]:
    """Return a domain as people write it and as DNS does."""
    return set(_domains(domain))


def _utf16(found: re.Match[str]) -> str:
    units = "".join(re.findall(r"u([0-9a-fA-F]{4})", found.group()))
    return bytes.fromhex(units).decode("utf-16-be", "replace")


def _octets(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("=", "")).decode("utf-8", "replace")


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


def _wild(text: str) -> str:
    return "".join(_window(window) for window in _windows(text))


def _wild_windows(text: str, *, last: bool) -> list[str]:
    """Return so much of the end, or of the start, of a text that it is rare; no letter that stands for two is cut."""
    windows = list(_windows(text))
    kept = [windows.pop(-1 if last else 0)]
    while windows and sum(map(len, kept)) < _RARE:
        kept.insert(0 if last else len(kept), windows.pop(-1 if last else 0))
    return [_window(window) for window in kept]


def _windows(text: str) -> Iterator[str]:
    """Cut a text where no character stands for what is on both sides of the cut."""
    begin = 0
    while begin < len(text):
        end, at = begin + 1, begin
        while at < end and end - begin < _WINDOW:
            joined = [size for size in (2, 3) if text[at : at + size] in _folded() and at + size <= len(text)]
            end = max([end, *(at + size for size in joined)])
            at += 1
        yield text[begin:end]
        begin = end


def _window(text: str) -> str:
    ways = list(_segmented(text))
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


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
    sign = "" if chars[0].isalnum() or chars[0].isspace() else r"\\{0,8}"
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
        yield rf"{_GAP}{_OPEN}\s?dot\s?{_CLOSE}{_GAP}"
        yield r"\s{1,3}dot\s{1,3}"
