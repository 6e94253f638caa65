"""What a value in cdk.json may be: small rules that can say themselves in words."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol


class SettingsError(ValueError):
    """A value in cdk.json cannot be used; the message is the one sentence its author needs."""


class Rule(Protocol):
    """One value's rule: whether it allows a value, and how to say what it allows."""

    def allows(self, value: object) -> bool:
        """Tell whether the value may be used."""

    def words(self) -> str:
        """Say what is allowed, to follow the words "must be"."""


@dataclass(frozen=True)
class Whole:
    """A whole number within a range, both ends included."""

    low: int
    high: int

    def allows(self, value: object) -> bool:
        """Refuse true and false too, which Python counts among the numbers."""
        return type(value) is int and self.low <= value <= self.high

    def words(self) -> str:
        """Name both ends of the range."""
        return f"a whole number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def allows(self, value: object) -> bool:
        """Take nothing that is merely truthy."""
        return isinstance(value, bool)

    def words(self) -> str:
        """Name both values."""
        return "true or false"


@dataclass(frozen=True)
class OneOf:
    """One of a few values."""

    values: Collection[str | int]

    def allows(self, value: object) -> bool:
        """Take only a listed value of the listed type."""
        return not isinstance(value, bool) and value in self.values

    def words(self) -> str:
        """List the values."""
        return "one of " + ", ".join(str(value) for value in self.values)


@dataclass(frozen=True)
class Text:
    """A text that matches a pattern."""

    pattern: str
    example: str

    def allows(self, value: object) -> bool:
        """Match the whole text."""
        return isinstance(value, str) and re.fullmatch(self.pattern, value) is not None

    def words(self) -> str:
        """Show one that fits."""
        return f"a text such as {self.example}"


def check(key: str, value: object, rule: Rule) -> None:
    """Refuse a value that its rule does not allow, naming the key and what is allowed."""
    if not rule.allows(value):
        raise SettingsError(f"{key} must be {rule.words()}, not {json.dumps(value, default=str)}.")
