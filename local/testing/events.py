"""What AWS hands to a function: requests in payload format 2.0 of API Gateway's HTTP API, and records of SQS."""

import base64
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

_NUMBERS = count(1)


def gateway_event(
    source: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    encoding: str = "base64",
    method: str = "POST",
) -> dict[str, Any]:
    """Return a request to the webhook endpoint; only bodies that are UTF-8 can be handed over plain."""
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


def question_event(
    method: str, path: str, query: str, headers: Mapping[str, str], body: bytes, *, source_ip: str = "192.0.2.1"
) -> dict[str, Any]:
    """Return a request to the query API."""
    return {
        "version": "2.0",
        "routeKey": "ANY /v1/{proxy+}",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {name.lower(): value for name, value in headers.items()},
        "requestContext": {"http": {"method": method, "path": path, "sourceIp": source_ip}},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }


def sqs_event(bodies: Sequence[str], *, receive_count: int = 1) -> dict[str, Any]:
    """Return what the event source mapping hands to process."""
    attributes = {"ApproximateReceiveCount": str(receive_count), "SentTimestamp": "1767268800000"}
    return {
        "Records": [
            {"messageId": f"m{next(_NUMBERS)}", "body": body, "attributes": attributes, "eventSource": "aws:sqs"}
            for body in bodies
        ]
    }
