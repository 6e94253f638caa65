"""Long work that the operate function does page by page."""

from collections.abc import Iterator
from typing import Any

from cli.place import Place


def pages(place: Place, command: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    """Order one page after the other until there is no next."""
    page = place.order(command, **arguments)
    yield page
    while page["next"]:
        page = place.order(command, **arguments, after=page["next"])
        yield page
