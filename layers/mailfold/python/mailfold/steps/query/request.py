"""One HTTP request of a reader, as API Gateway hands it over."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from mailfold.errors import BadRequest

#: More than any route takes.
MOST_PARAMETERS = 20


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    """What is asked, before anybody is believed; its path, query and body may hold addresses."""

    method: str
    path: str
    query_string: str = field(repr=False)
    #: Names are lower case.
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    #: Who seems to ask; only to slow down whoever guesses tokens.
    source_ip: str = ""
    received_at: datetime

    @classmethod
    def from_api_gateway(cls, event: Mapping[str, Any]) -> "HttpRequest":
        """Read a payload of format 2.0."""
        http = event["requestContext"]["http"]
        return cls(
            method=str(http["method"]).upper(),
            # An HTTP API has decoded all escapes but %25, so decoding once more is right for both:
            # https://github.com/middleapi/standard-server/pull/93
            path=unquote(event.get("rawPath") or http.get("path") or "/"),
            query_string=event.get("rawQueryString") or "",
            headers={name.lower(): str(value) for name, value in (event.get("headers") or {}).items()},
            body=_body_bytes(event),
            source_ip=str(http.get("sourceIp") or ""),
            received_at=datetime.now(UTC),
        )

    @property
    def query(self) -> dict[str, str]:
        """Return the parameters; a plus is a plus, because addresses and times hold it, and spaces they do not."""
        pieces = [piece for piece in self.query_string.split("&") if piece]
        if len(pieces) > MOST_PARAMETERS:
            raise BadRequest(f"at most {MOST_PARAMETERS} parameters are taken")
        found: dict[str, str] = {}
        for piece in pieces:
            name, _, value = piece.partition("=")
            if unquote(name) in found:
                raise BadRequest("each parameter may be given once")
            found[unquote(name)] = unquote(value)
        return found


def _body_bytes(event: Mapping[str, Any]) -> bytes:
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(body).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return b"not base64"
