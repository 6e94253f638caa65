"""The OpenAPI document, made of the routes: it cannot say anything else than they do."""

import re
from collections.abc import Iterable
from typing import Any

from mailfold.steps.query.route import Route
from mailfold.steps.query.schemas import COMPONENTS

VERSION = "1"
#: What any route may answer instead.
REFUSALS = {
    400: "What was sent is not what the route takes",
    401: "No token that is known and still good",
    403: "The token may not do this",
    404: "Nothing is stored under this name",
    409: "It cannot be done now, or somebody else decided later",
    413: "The body is too large",
    429: "Too many requests; `retry-after` says how long to wait",
    500: "A mistake of ours; it is counted and logged",
    503: "The database is away or takes too long; ask again",
}
COMMON = (400, 401, 403, 413, 429, 500, 503)


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Mailfold",
            "version": VERSION,
            "description": "What happened to this mail, may I send to this address, is it flowing.",
        },
        "paths": paths,
        "components": {
            "schemas": COMPONENTS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()} {route.path}").strip("_"),
        "summary": route.summary,
        "parameters": [*_parameters(route)],
        "responses": _responses(route),
    }
    if route.scope is not None:
        operation["security"] = [{"token": []}]
        more = "".join(f" With `{name}` also the scope `{scope}`." for name, scope in route.more_scopes.items())
        operation["description"] = f"Needs the scope `{route.scope}`.{more}"
    if route.in_body:
        operation["requestBody"] = {
            "required": bool(route.needs),
            "content": {"application/json": {"schema": _body(route)}},
        }
    return operation


def _parameters(route: Route) -> Iterable[dict[str, Any]]:
    for name, kind in route.in_path.items():
        yield {"name": name, "in": "path", "required": True, "schema": kind.schema}
    for name, kind in route.in_query.items():
        yield {"name": name, "in": "query", "required": False, "schema": kind.schema}


def _body(route: Route) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: kind.schema for name, kind in route.in_body.items()},
        "additionalProperties": False,
    }
    return {**schema, "required": list(route.needs)} if route.needs else schema


def _responses(route: Route) -> dict[str, Any]:
    refusals = {*route.refusals, *(COMMON if route.scope is not None else (400, 503))}
    return {
        "200": _response(route.summary, route.answers),
        **{str(status): _response(REFUSALS[status], "Error") for status in sorted(refusals)},
    }


def _response(description: str, name: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}
