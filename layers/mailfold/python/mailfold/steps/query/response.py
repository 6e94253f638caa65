"""What is answered, and how API Gateway wants it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mailfold.jsontext import dumps

#: On every answer: nobody keeps it, and nobody takes it for anything else than it says.
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "strict-transport-security": "max-age=31536000",
}


@dataclass(frozen=True, kw_only=True)
class Response:
    """One answer."""

    status: int = 200
    #: JSON, unless there are bytes.
    body: Any = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Whom it is for, where that is known.
    by: str | None = None

    def for_api_gateway(self) -> dict[str, Any]:
        """Return it in payload format 2.0."""
        headers = {**HEADERS, "content-type": "application/json", **self.headers}
        if self.content is None:
            return {"statusCode": self.status, "headers": headers, "body": dumps(self.body), "isBase64Encoded": False}
        body = base64.b64encode(self.content).decode("ascii")
        return {"statusCode": self.status, "headers": headers, "body": body, "isBase64Encoded": True}


def refusal(status: int, sentence: str, **headers: str) -> Response:
    """Return an answer that says in one sentence why there is none."""
    return Response(
        status=status,
        body={"error": sentence},
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )
