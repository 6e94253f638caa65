"""Find an address in whatever text may quote it, and put something else in its place."""

import json
import re
from collections.abc import Iterator

#: Possessive, and ends with the text where nothing closes it: no character is looked at twice.
_LITERAL = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)', re.DOTALL)
#: JSON within JSON doubles the backslashes at each level: 64 are six levels. With no bound a run of them, tried from
#: each of its places, would cost the square of its length.
_MOST_BACKSLASHES = 64
_WORD = r"[^\W_]"
#: What belongs to the local part of another address when it stands before the one that is looked for.
_JOINT = r"[._+'-]"

# An address may begin after anything that is no part of a longer one. Behind an escape the letter before it is none:
# %3D is an equals sign, =3C opens an angle, \n ends a line. But %2B, %2D, %2E, %5F and %27 are joints.
_BEGINS = (
    rf"(?:(?<!{_WORD})(?<!{_WORD}{_JOINT})(?<!^[._+-])"
    r"|(?<=%[0-9a-f]{2})(?<!%2[7bde])(?<!%5f)"
    r"|(?:(?<=%25[0-9a-f]{2})|(?<=%2525[0-9a-f]{2}))(?<!252[7bde])(?<!255f)"
    r"|(?<==3[acde])|(?<==2[02])|(?<==0[ad])"
    r"|(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{4}))"
)
#: In a return path an address stands as bounce+ann=example.com@: behind a joint.
_BEGINS_VERP = rf"(?<!{_WORD})(?<!{_WORD}[._'])"
#: A dot or dash goes on to a longer domain only where something follows it.
_ENDS = rf"(?!{_WORD}|_|[.-]{_WORD})"


class Redaction:
    """Puts a form in the place of an address: plain, percent-encoded, as JSON, HTML or a return path writes it."""

    def __init__(self, address: str, form: str) -> None:
        self._form = form
        name, _, domain = address.rpartition("@")
        wild_name, wild_domain = _wild(name), _wild(domain)
        #: For Postgres, and too wide: finds every text that may hold the address, and some that do not.
        self.pattern = f"{wild_name}(?:=|{_wild('@')}){wild_domain}"
        flags = re.IGNORECASE
        self._exact = (
            re.compile(f"{_BEGINS}{wild_name}{_wild('@')}{wild_domain}{_ENDS}", flags),
            re.compile(f"{_BEGINS_VERP}{wild_name}={wild_domain}{_ENDS}", flags),
        )

    def redact(self, text: str) -> str:
        """Return the text without the address; JSON, also JSON within JSON, keeps its shape and its numbers."""
        if text.lstrip()[:1] in {"{", "[", '"'} and _is_json(text):
            return _LITERAL.sub(self._redact_literal, text)
        for pattern in self._exact:
            text = pattern.sub(self._form, text)
        return text

    def _redact_literal(self, found: re.Match[str]) -> str:
        text = json.loads(found.group())
        redacted = self.redact(text)
        return found.group() if redacted == text else json.dumps(redacted)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _wild(part: str) -> str:
    return "".join(char if char.isascii() and char.isalnum() else f"(?:{'|'.join(_ways(char))})" for char in part)


def _ways(char: str) -> Iterator[str]:
    """Return the ways to write a character, as a regular expression that Python and Postgres read alike."""
    code = ord(char)
    yield (rf"\\{{0,{_MOST_BACKSLASHES}}}" if char in '"\\' else "") + f"\\U{code:08x}"
    octets = char.encode("utf-8", "surrogatepass")
    # An address in a link in a link is encoded once for each.
    yield "".join(f"%(?:25)*{octet:02x}" for octet in octets)
    yield "".join(f"={octet:02x}" for octet in octets)
    units = char.encode("utf-16-be", "surrogatepass")
    yield "".join(rf"\\{{1,{_MOST_BACKSLASHES}}}u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
    yield f"&#{code};"
    yield f"&#x{code:x};"
    if char == "@":
        yield "&commat;"
