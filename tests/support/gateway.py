"""Requests as API Gateway's HTTP API hands them to a function, in payload format 2.0."""

import base64
from collections.abc import Mapping
from typing import Any


def gateway_event(
    source: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    encoding: str = "base64",
    method: str = "POST",
) -> dict[str, Any]:
    """Return one; only bodies that are UTF-8 can be handed over plain."""
    is_base64 = encoding == "base64"
    return {
        "version": "2.0",
        "routeKey": "ANY /webhooks/{source}",
        "rawPath": f"/webhooks/{source}",
        "pathParameters": {"source": source},
        "headers": {name.lower(): value for name, value in headers.items()},
        "requestContext": {"http": {"method": method, "path": f"/webhooks/{source}"}},
        "body": base64.b64encode(body).decode() if is_base64 else body.decode(),
        "isBase64Encoded": is_base64,
    }
