"""An HTTP request on its way in: raw first, verified after."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mailfold.decoding import LONGEST_HEADER
from mailfold.errors import VerificationError
from mailfold.signatures import Proof

#: API Gateway takes 10,240 bytes of request line and headers in all, and adds some of its own.
MOST_HEADER_CHARACTERS = 16_384


@dataclass(frozen=True, kw_only=True)
class Source:
    """One configured endpoint of a provider."""

    name: str
    provider: str
    #: Whatever else the source's settings say; only its provider reads it.
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What API Gateway handed over, before anybody is believed."""

    source_name: str
    method: str
    #: Names are lower case.
    headers: Mapping[str, str]
    body: bytes
    received_at: datetime
    #: The certificate that the provider's `certificate_url` named, once it is fetched.
    certificate: str = ""

    @classmethod
    def from_api_gateway(cls, event: Mapping[str, Any], *, received_at: datetime | None = None) -> "Request":
        """Read a payload of format 2.0; the body stays the bytes that the provider signed."""
        return cls(
            source_name=(event.get("pathParameters") or {}).get("source", ""),
            method=event["requestContext"]["http"]["method"].upper(),
            headers={name.lower(): value for name, value in (event.get("headers") or {}).items()},
            body=_body_bytes(event),
            received_at=received_at or datetime.now(UTC),
        )

    def header(self, name: str) -> str:
        """Return a header the verification cannot do without."""
        value = self.headers.get(name)
        if not value or len(value) > LONGEST_HEADER:
            raise VerificationError
        return value

    def check_headers(self) -> None:
        """Refuse more headers than the front door lets through, before any of them is looked at."""
        if sum(map(len, self.headers)) + sum(map(len, self.headers.values())) > MOST_HEADER_CHARACTERS:
            raise VerificationError


def _body_bytes(event: Mapping[str, Any]) -> bytes:
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(body).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        # No provider sends this; as bytes that nobody signed it fails verification like any forgery.
        return b""


@dataclass(frozen=True, kw_only=True)
class VerifiedRequest:
    """A request whose sender is proven; there is no other way to make one than to hold the proof."""

    request: Request
    source: Source
    proof: Proof

    def __post_init__(self) -> None:
        if not isinstance(self.proof, Proof):
            raise TypeError("a VerifiedRequest needs the Proof that a check in mailfold.signatures returned")
