"""Find an address in whatever text may quote it, and put something else in its place."""

import json
import re
from functools import lru_cache

from mailfold.spellings import around_the_sign, decoded, exactly, in_return_path, loosely, with_signs

#: Possessive, and ends with the text where nothing closes it: no character is looked at twice.
_LITERAL = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)', re.DOTALL)
#: So much of what stands before and behind an address is looked at.
_NEAR = 200
#: What ends in one of these is part of a longer local part: a letter, or a sign behind a letter.
_LONGER_NAME = re.compile(r"(?:[^\W_]|[^\W_][._+'-]|^[._+-])\Z")
_LONGER_NAME_OF_ID = re.compile(r"[^\W_]\Z")
#: In a return path an address stands as bounce+ann=example.com@: behind a sign.
_LONGER_NAME_OF_PATH = re.compile(r"(?:[^\W_]|[^\W_][._'])\Z")
#: A longer domain ends in letters, and no @ follows: what else follows is a counter, or another host in an id.
_LONGER_DOMAIN = re.compile(r"[^\W_]|_|(?:[.-][^\W_]+)*\.[^\W\d_]{2,}(?![\w@-])|(?:-[^\W_]+)+\.[^\W\d_]{2,}(?![\w@-])")
#: In a return path the host of the bounces follows the domain.
_LONGER_DOMAIN_OF_PATH = re.compile(r"[^\W_]|_|[.-][^\W_]")
#: What is masked while the rest is searched; no text from outside holds it, because Postgres takes no NUL.
_MASK = "\0"


class Redaction:
    """Puts a form in the place of an address, however it is spelled."""

    def __init__(self, address: str, form: str) -> None:
        self.form = form
        self._address = address.casefold()
        #: For Postgres, and too wide: finds every text that may hold the address, and some that do not.
        self.pattern = loosely(address)
        #: For Postgres as well, and wider: what it looks for first.
        self.near = around_the_sign(address)
        flags = re.IGNORECASE
        whole = exactly(address)
        self._whole = re.compile(whole, flags)
        self._path = re.compile(in_return_path(address), flags)
        name = r'(?:\\*"[^"<>]{0,200}"|[^<>,;:"@]{1,100})'
        self._mailbox = re.compile(rf"(?P<before>(?:^|[,;])\s*){name}\s*<\s*(?:{whole})\s*>(?=\s*(?:$|[,;]))", flags)

    def is_address(self, text: object) -> bool:
        """Tell whether a text is the address, or what stands for it, and nothing more."""
        return isinstance(text, str) and (text == self.form or self._whole.fullmatch(text.strip()) is not None)

    def redact(self, text: str) -> str:
        """Return the text without the address and the name beside it; JSON keeps its shape and its numbers."""
        if text.lstrip()[:1] in {"{", "[", '"'} and _is_json(text):
            return _LITERAL.sub(self._redact_literal, text)
        text = self._mailbox.sub(rf"\g<before><{self.form}>", text)
        text = _replace(self._whole, text, self.form, _LONGER_NAME, _LONGER_DOMAIN)
        return _replace(self._path, text, self.form, _LONGER_NAME_OF_PATH, _LONGER_DOMAIN_OF_PATH)

    def redact_id(self, text: str, *, owner: str = "") -> str:
        """Return an id without the address, whatever signs tie it to the rest; its owner keeps a longer one."""
        if self.is_address(owner):
            return self._path.sub(self.form, self._whole.sub(self.form, text))
        masked: list[str] = []

        def mask(found: re.Match[str]) -> str:
            masked.append(found.group())
            return _MASK

        if self._address in owner.casefold():
            text = _spellings_of(owner).sub(mask, text)
        text = _replace(self._whole, text, self.form, _LONGER_NAME_OF_ID, _LONGER_DOMAIN)
        text = _replace(self._path, text, self.form, _LONGER_NAME_OF_ID, _LONGER_DOMAIN_OF_PATH)
        return "".join(part + kept for part, kept in zip(text.split(_MASK), [*masked, ""], strict=True))

    def _redact_literal(self, found: re.Match[str]) -> str:
        text = json.loads(found.group())
        redacted = self.redact(text)
        return found.group() if redacted == text else json.dumps(redacted)


@lru_cache(maxsize=100)
def _spellings_of(address: str) -> re.Pattern[str]:
    return re.compile(f"{exactly(address)}|{in_return_path(address)}", re.IGNORECASE)


def _replace(
    pattern: re.Pattern[str], text: str, form: str, longer_name: re.Pattern[str], longer_domain: re.Pattern[str]
) -> str:
    """Put the form where the address is found and no longer address is around it."""

    def replaced(found: re.Match[str]) -> str:
        before = with_signs(decoded(text[max(found.start() - _NEAR, 0) : found.start()]))
        behind = with_signs(decoded(text[found.end() : found.end() + _NEAR]))
        longer = longer_name.search(before) or longer_domain.match(behind)
        return found.group() if longer else form

    return pattern.sub(replaced, text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
