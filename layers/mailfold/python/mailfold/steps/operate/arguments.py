"""The arguments of an order, read one by one; what is missing or of the wrong kind declines the order."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mailfold.errors import CommandRefused


class Arguments:
    """What came with an order."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        if not isinstance(given, Mapping):
            raise CommandRefused("the arguments must be an object")
        self._given = given

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text that must be there unless it has a default."""
        value = self._given.get(name, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise CommandRefused(f"{name} must be a text")
        return value

    def address(self, name: str = "address") -> str:
        """Return an address the way events have it."""
        value = self.text(name).strip().lower()
        if "@" not in value and not value.startswith("erased:"):
            raise CommandRefused(f"{name} must be an address")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of texts, empty where there is none."""
        value = self._given.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise CommandRefused(f"{name} must be a list of texts")
        return value

    def words(self, name: str) -> list[str]:
        """Return one text or a list of texts as a list; empty only where nothing was given."""
        value = self._given.get(name)
        if value is None:
            return []
        words = [value] if isinstance(value, str) else value
        if not isinstance(words, list) or not words or not all(isinstance(word, str) and word for word in words):
            # An empty list may come from a mistake, and must not mean everything.
            raise CommandRefused(f"{name} must be a text or a list of texts")
        return words

    def number(self, name: str, default: int, *, least: int = 1, most: int) -> int:
        """Return a whole number within its bounds."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise CommandRefused(f"{name} must be a whole number from {least} to {most}")
        return value

    def flag(self, name: str) -> bool:
        """Return a switch that is off unless it is on."""
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            raise CommandRefused(f"{name} must be true or false")
        return value

    def moment(self, name: str) -> datetime | None:
        """Return a time in UTC, or None where there is none."""
        value = self._given.get(name)
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (TypeError, ValueError, OverflowError):
            raise CommandRefused(f"{name} must be a time such as 2026-11-18T12:00:00Z") from None

    def value(self, name: str) -> Any:
        """Return whatever is there."""
        return self._given.get(name)
