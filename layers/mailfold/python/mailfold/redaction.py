"""Find an address in whatever text may quote it, and put something else in its place."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from mailfold.spellings import around_the_sign, exactly, in_return_path, loosely
from mailfold.unescaping import decoded, with_signs

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
#: An owner may be written in so many characters for each of its own.
_WRITTEN = 12
#: A name stands before an address in angle brackets, between the begin or a comma and the end or a comma.
_NAMED = re.compile(r'(?P<before>(?:^|[,;])\s*+)(?:\\*+"[^"<>]{0,200}+"|[^<>,;:"@]{1,100}+)\s*+<\s*')
_NAMED_END = re.compile(r"\s*+>(?=\s*+(?:$|[,;]))")


class Redaction:
    """Puts a form in the place of an address, however it is spelled."""

    def __init__(self, address: str, form: str) -> None:
        self.form = form
        self._address = address.casefold()
        self._whole, self._path = _patterns_of(address)

    @property
    def pattern(self) -> str:
        """For Postgres, and too wide: finds every text that may hold the address, and some that do not."""
        return loosely(self._address)

    @property
    def near(self) -> str:
        """For Postgres as well, and wider: what it looks for first."""
        return around_the_sign(self._address)

    def is_address(self, text: object) -> bool:
        """Tell whether a text is the address, or what stands for it, and nothing more."""
        return isinstance(text, str) and (text == self.form or self._whole.fullmatch(text.strip()) is not None)

    def redact(self, text: str) -> str:
        """Return the text without the address and the name beside it; JSON keeps its shape and its numbers."""
        if text.lstrip()[:1] in {"{", "[", '"'} and _is_json(text):
            return _LITERAL.sub(self._redact_literal, text)
        text = _replace(self._whole, self._without_names(text), self.form, _is_longer)
        return _replace(self._path, text, self.form, _is_longer_path)

    def redact_id(self, text: str, *, owner: str = "") -> str:
        """Return an id without the address, whatever signs tie it to the rest; its owner keeps a longer one."""
        if self.is_address(owner):
            return self._path.sub(self.form, self._whole.sub(self.form, text))
        around = list(_around(self._address, owner.casefold()))
        near = _NEAR + (_WRITTEN * len(owner) if around else 0)

        def is_longer_id(before: str, behind: str) -> bool:
            return _is_longer_id(before, behind) or _is_within(around, before, behind)

        def is_longer_path(before: str, behind: str) -> bool:
            return _is_longer_path_of_id(before, behind) or _is_within(around, before, behind)

        text = _replace(self._whole, text, self.form, is_longer_id, near)
        return _replace(self._path, text, self.form, is_longer_path, near)

    def _without_names(self, text: str) -> str:
        """Return the text with the form for each mailbox: the address in angle brackets, and the name before it."""
        kept: list[str] = []
        at = begin = 0
        while named := _NAMED.search(text, begin):
            begin = named.start() + 1
            address = self._whole.match(text, named.end())
            if address and (end := _NAMED_END.match(text, address.end())):
                kept += [text[at : named.end("before")], f"<{self.form}>"]
                at = begin = end.end()
        return "".join([*kept, text[at:]])

    def _redact_literal(self, found: re.Match[str]) -> str:
        text = json.loads(found.group())
        redacted = self.redact(text)
        return found.group() if redacted == text else json.dumps(redacted)


@lru_cache(maxsize=100)
def _patterns_of(address: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    flags = re.IGNORECASE
    return re.compile(exactly(address), flags), re.compile(in_return_path(address), flags)


def _replace(
    pattern: re.Pattern[str], text: str, form: str, is_longer: Callable[[str, str], bool], near: int = _NEAR
) -> str:
    """Put the form where the address is found and no longer address is around it."""

    def replaced(found: re.Match[str]) -> str:
        before = _plain(text[max(found.start() - near, 0) : found.start()])
        behind = _plain(text[found.end() : found.end() + near])
        return found.group() if is_longer(before, behind) else form

    return pattern.sub(replaced, text)


@lru_cache(maxsize=1000)
def _plain(text: str) -> str:
    return with_signs(decoded(text))


def _is_longer(before: str, behind: str) -> bool:
    return bool(_LONGER_NAME.search(before, max(len(before) - 2, 0)) or _LONGER_DOMAIN.match(behind))


def _is_longer_path(before: str, behind: str) -> bool:
    return bool(_LONGER_NAME_OF_PATH.search(before, max(len(before) - 2, 0)) or _LONGER_DOMAIN_OF_PATH.match(behind))


def _is_longer_id(before: str, behind: str) -> bool:
    return bool(_LONGER_NAME_OF_ID.search(before[-1:]) or _LONGER_DOMAIN.match(behind))


def _is_longer_path_of_id(before: str, behind: str) -> bool:
    return bool(_LONGER_NAME_OF_ID.search(before[-1:]) or _LONGER_DOMAIN_OF_PATH.match(behind))


def _around(address: str, owner: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and behind the address in the address of an owner, without backslashes."""
    at = owner.find(address)
    while at >= 0:
        yield owner[:at].replace("\\", ""), owner[at + len(address) :].replace("\\", "")
        at = owner.find(address, at + 1)


def _is_within(around: Sequence[tuple[str, str]], before: str, behind: str) -> bool:
    before, behind = before.casefold().replace("\\", ""), behind.casefold().replace("\\", "")
    return any(before.endswith(head) and behind.startswith(tail) for head, tail in around)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
