"""What a parameter of a question may be: read strictly from text or JSON, and described as OpenAPI does."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from mailfold.errors import BadRequest
from mailfold.jsontext import storable_text

Schema = dict[str, Any]

#: RFC 5321 allows 64 and 255 with the sign between them.
ADDRESS_CHARACTERS = 320
_DIGITS = re.compile(r"-?[0-9]{1,9}")


class Kind(Protocol):
    """One kind of value."""

    @property
    def schema(self) -> Schema:
        """Return it as a JSON schema."""

    def from_text(self, text: str) -> Any:
        """Read it from a path or a query string; ValueError where it is something else."""

    def from_json(self, value: Any) -> Any:
        """Read it from a body; ValueError where it is something else."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text of some length."""

    most: int = 200
    least: int = 1

    @property
    def schema(self) -> Schema:
        """Return it as a JSON schema."""
        return {"type": "string", "minLength": self.least, "maxLength": self.most}

    def from_text(self, text: str) -> str:
        """Take the text, with what Postgres cannot hold shown as events have it."""
        if not self.least <= len(text) <= self.most:
            raise ValueError(f"a text of {self.least} to {self.most} characters")
        return storable_text(text)

    def from_json(self, value: Any) -> str:
        """Take nothing but a text."""
        if not isinstance(value, str):
            raise ValueError(f"a text of {self.least} to {self.most} characters")  # noqa: TRY004 - all are ValueError
        return self.from_text(value)


@dataclass(frozen=True, kw_only=True)
class Address:
    """An address, the way events have it: lower case, without white space around it."""

    @property
    def schema(self) -> Schema:
        """Return it as a JSON schema."""
        return {"type": "string", "minLength": 1, "maxLength": ADDRESS_CHARACTERS, "pattern": "@|^erased:"}

    def from_text(self, text: str) -> str:
        """Take an address, or what stands for the address of an erased person."""
        address = storable_text(text).strip().lower()
        if not 1 <= len(text) <= ADDRESS_CHARACTERS or ("@" not in address and not address.startswith("erased:")):
            raise ValueError(f"an address of at most {ADDRESS_CHARACTERS} characters")
        return address

    def from_json(self, value: Any) -> str:
        """Take nothing but a text."""
        if not isinstance(value, str):
            raise ValueError("an address")  # noqa: TRY004
        return self.from_text(value)


@dataclass(frozen=True, kw_only=True)
class Texts:
    """A list of texts, in a body only."""

    most: int

    @property
    def schema(self) -> Schema:
        """Return it as a JSON schema."""
        item = {"type": "string", "minLength": 1, "maxLength": ADDRESS_CHARACTERS}
        return {"type": "array", "minItems": 1, "maxItems": self.most, "items": item}

    def from_text(self, text: str) -> list[str]:
        """Refuse: a list does not fit into a query string."""
        raise ValueError("a list in the body")

    def from_json(self, value: Any) -> list[str]:
        """Take nothing but texts."""
        if not isinstance(value, list) or not 1 <= len(value) <= self.most:
            raise ValueError(f"a list of 1 to {self.most} texts")
        if not all(isinstance(item, str) and 1 <= len(item) <= ADDRESS_CHARACTERS for item in value):
            raise ValueError(f"a list of texts of 1 to {ADDRESS_CHARACTERS} characters each")
        return value


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A whole number within its bounds."""

    least: int = 1
    most: int

    @property
    def schema(self) -> Schema:
        """Return it as a JSON schema."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def from_text(self, text: str) -> int:
        """Take ASCII digits."""
        if not _DIGITS.fullmatch(text):
            raise ValueError(self._words)
        return self.from_json(int(text))

    def from_json(self, value: Any) -> int:
        """Take no true or false, which Python counts among the numbers."""
        if isinstance(value, float) and value.is_integer():
            # JSON knows no difference between 1 and 1.0.
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise ValueError(self._words)
        return value

    @property
    def _words(self) -> str:
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True, kw_only=True)
class Flag:
    """True or false."""

    @property
    def schema(self) -> Schema:
        """Return it as a JSON schema."""
        return {"type": "boolean"}

    def from_text(self, text: str) -> bool:
        """Take the two words."""
        if text not in {"true", "false"}:
            raise ValueError("true or false")
        return text == "true"

    def from_json(self, value: Any) -> bool:
        """Take nothing that is merely truthy."""
        if not isinstance(value, bool):
            raise ValueError("true or false")  # noqa: TRY004
        return value


@dataclass(frozen=True, kw_only=True)
class OneOf:
    """One of a few words."""

    words: Sequence[str]

    @property
    def schema(self) -> Schema:
        """Return it as a JSON schema."""
        return {"type": "string", "enum": list(self.words)}

    def from_text(self, text: str) -> str:
        """Take a listed word."""
        if text not in self.words:
            raise ValueError("one of " + ", ".join(self.words))
        return text

    def from_json(self, value: Any) -> str:
        """Take nothing but a text."""
        return self.from_text(value if isinstance(value, str) else "")


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A time; without an offset it is UTC."""

    @property
    def schema(self) -> Schema:
        """Return it as a JSON schema."""
        return {"type": "string", "format": "date-time"}

    def from_text(self, text: str) -> datetime:
        """Take what ISO 8601 writes."""
        try:
            moment = datetime.fromisoformat(text)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            raise ValueError("a time such as 2026-11-18T12:00:00Z") from None

    def from_json(self, value: Any) -> datetime:
        """Take nothing but a text."""
        return self.from_text(value if isinstance(value, str) else "")


def read_text(name: str, kind: Kind, text: str) -> Any:
    """Read one value of a path or a query string."""
    try:
        return kind.from_text(text)
    except ValueError as wrong:
        raise BadRequest(f"{name} must be {wrong}") from None


def read_json(name: str, kind: Kind, value: Any) -> Any:
    """Read one value of a body."""
    try:
        return kind.from_json(value)
    except ValueError as wrong:
        raise BadRequest(f"{name} must be {wrong}") from None
