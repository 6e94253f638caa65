"""One route of the API, and how a question is read by it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mailfold.errors import BadRequest, MalformedPayload, RequestTooLarge
from mailfold.jsontext import loads
from mailfold.steps.query.context import Call
from mailfold.steps.query.kinds import Kind, read_json, read_text
from mailfold.steps.query.request import HttpRequest
from mailfold.steps.query.response import Response

#: A thousand addresses of the greatest length, and as much again.
MOST_BODY_BYTES = 700_000


@dataclass(frozen=True, kw_only=True)
class Route:
    """One method of one path."""

    method: str
    #: A parameter may only be the last part, and takes all the rest: message ids and addresses may hold a slash.
    path: str
    #: What a token must allow; None where no token is needed.
    scope: str | None
    summary: str
    #: The name of the answer in schemas.py.
    answers: str
    response: Callable[[Call], Response] | None = None
    #: Whether it changes nothing, so that the transaction is read only.
    reads: bool = True
    #: Whether the best plan depends on the values: a page of a rare source and one of a common one are one statement.
    replans: bool = False
    in_path: Mapping[str, Kind] = field(default_factory=dict)
    in_query: Mapping[str, Kind] = field(default_factory=dict)
    in_body: Mapping[str, Kind] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    #: A parameter that asks for more than the rest of the route, and the scope that it needs besides.
    more_scopes: Mapping[str, str] = field(default_factory=dict)
    #: Refusals of its own, besides those that every route has.
    refusals: tuple[int, ...] = ()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return what a path must look like."""
        return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(self.path)), re.DOTALL)

    def scopes(self, values: Mapping[str, Any]) -> list[str]:
        """Return what a token must allow for these values."""
        return [
            *([self.scope] if self.scope else []),
            *(it for name, it in self.more_scopes.items() if values.get(name)),
        ]

    def read(self, request: HttpRequest, in_path: Mapping[str, str]) -> dict[str, Any]:
        """Return the values of a question, each read by its kind; whatever the route does not know is refused."""
        given = request.query
        _known("parameter", given, self.in_query)
        values: dict[str, Any] = {name: read_text(name, kind, in_path[name]) for name, kind in self.in_path.items()}
        values |= {name: read_text(name, kind, given[name]) for name, kind in self.in_query.items() if name in given}
        return values | (self._read_body(request) if self.in_body else {})

    def _read_body(self, request: HttpRequest) -> dict[str, Any]:
        if len(request.body) > MOST_BODY_BYTES:
            raise RequestTooLarge(f"the body may have at most {MOST_BODY_BYTES} bytes")
        if not request.body and not self.needs:
            return {}
        try:
            body = loads(request.body)
        except MalformedPayload as wrong:
            raise BadRequest(str(wrong)) from None
        if not isinstance(body, dict):
            raise BadRequest("the body must be an object")
        _known("field", body, self.in_body)
        for name in self.needs:
            if name not in body:
                raise BadRequest(f"{name} is missing")
        return {name: read_json(name, kind, body[name]) for name, kind in self.in_body.items() if name in body}


def _known(what: str, given: Mapping[str, Any], known: Mapping[str, Kind]) -> None:
    if given.keys() - known.keys():
        raise BadRequest(f"there is no such {what}; known are {', '.join(known) or 'none'}")
