"""How large an answer may be, and what becomes of what does not fit.

Lambda refuses an answer above 6 MB, and puts the JSON of the body into JSON once more, which doubles each quote. So a
list ends early and says where to go on, a raw payload gives way to a sentence, and one text that is too long is cut.
"""

from collections.abc import Sequence
from typing import Any

from mailfold.errors import RequestTooLarge
from mailfold.jsontext import dumps
from mailfold.steps.query.response import Response

#: Lambda's limit is 6 * 1024 * 1024 bytes for body, headers and the braces around them.
MOST_BYTES = 5_500_000
#: What lists and raw payloads may take of it.
ROOM_BYTES = 5_000_000
#: What is read for one answer: no more could fit, and an environment must be able to hold it.
READ_BYTES = 5_000_000
#: Texts are cut no further than this, so that ids and cursors stay whole.
LEAST_CHARACTERS = 10_000
_CUT = " … [cut: too long for this answer]"


def weight(value: Any) -> int:
    """Return how many bytes a value takes in the answer that Lambda is given."""
    return len(dumps(dumps(value)))


def fitting(items: Sequence[Any], room: int = ROOM_BYTES) -> int:
    """Return how many items an answer has room for, but at least one, so that a list always goes on."""
    for index, item in enumerate(items):
        room -= weight(item)
        if room < 0:
            return max(1, index)
    return len(items)


def last_of(items: list[Any], *, found: int, most: int) -> Any | None:
    """Cut a list down to what fits; return the item that the next page begins behind, if it is full or was cut."""
    kept = fitting(items)
    is_cut = kept < found
    del items[kept:]
    return items[-1] if items and (is_cut or len(items) == most) else None


def fitted(response: Response) -> Response:
    """Return an answer that Lambda takes: the longest texts of one that is too large are cut."""
    if response.content is not None or weight(response.body) <= MOST_BYTES:
        return response
    characters = MOST_BYTES
    body = response.body
    while weight(body) > MOST_BYTES:
        characters //= 2
        if characters < LEAST_CHARACTERS:
            raise RequestTooLarge(f"the answer would have more than {MOST_BYTES} bytes: ask for less at once")
        body = _cut(response.body, characters)
    return Response(status=response.status, body=body, headers=response.headers, by=response.by)


def _cut(value: Any, characters: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= characters else value[:characters] + _CUT
    if isinstance(value, list):
        return [_cut(item, characters) for item in value]
    if isinstance(value, dict):
        return {name: _cut(item, characters) for name, item in value.items()}
    return value
