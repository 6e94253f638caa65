"""Where the next page begins: opaque to its holder, good for the same filters only, and strictly read."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from mailfold.errors import BadRequest
from mailfold.events import digest
from mailfold.jsontext import dumps, storable_text

#: What `pg_snapshot` looks like.
_SNAPSHOT = re.compile(r"[0-9]{1,19}:[0-9]{1,19}:([0-9]{1,19}(,[0-9]{1,19}){0,400})?")
_CHARACTERS = 8_000
_WRONG = "cursor must be one that a page of the same question has given"


def seal(filters: Mapping[str, Any], *place: str) -> str:
    """Return the cursor of a place in a list with these filters."""
    text = dumps([_mark(filters), *place])
    return base64.urlsafe_b64encode(text.encode("ascii")).decode("ascii").rstrip("=")


def unseal(cursor: str, filters: Mapping[str, Any], shape: str) -> list[str]:
    """Return the place; `shape` has a letter for each part: t a time, s a snapshot, x any text."""
    place = _parsed(cursor)
    if len(place) != len(shape) + 1 or place[0] != _mark(filters):
        raise BadRequest(_WRONG)
    for part, letter in zip(place[1:], shape, strict=True):
        if not _CHECKS[letter](part):
            raise BadRequest(_WRONG)
    return place[1:]


def _parsed(cursor: str) -> list[str]:
    if len(cursor) > _CHARACTERS or not cursor.isascii():
        raise BadRequest(_WRONG)
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place = json.loads(text)
    except (binascii.Error, ValueError, RecursionError):
        raise BadRequest(_WRONG) from None
    if not isinstance(place, list) or not all(isinstance(part, str) for part in place):
        raise BadRequest(_WRONG)
    return place


def _mark(filters: Mapping[str, Any]) -> str:
    return digest(*(f"{name}={value}" for name, value in sorted(filters.items()) if value is not None))[:12]


def _is_time(part: str) -> bool:
    if part == "-infinity":
        return True
    try:
        return datetime.fromisoformat(part).tzinfo is not None
    except ValueError:
        return False


_CHECKS: dict[str, Callable[[str], bool]] = {
    "t": _is_time,
    "s": lambda part: _SNAPSHOT.fullmatch(part) is not None,
    "x": lambda part: storable_text(part) == part,
}
