"""The only way to a VerifiedRequest, with a secret made for the occasion."""

from datetime import UTC, datetime

from mailfold.providers.sesmetric import verify
from mailfold.request import Request, Source, VerifiedRequest
from samples import sesmetric

NOW = datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)
SOURCE = Source(name="main", provider="sesmetric")


def verified_request(body: bytes, *, source: Source = SOURCE, at: datetime = NOW) -> VerifiedRequest:
    """Return a genuine request with this body."""
    keys = sesmetric.make_keys()
    headers = {name.lower(): value for name, value in sesmetric.sign(body, keys, at).items()}
    request = Request(source_name=source.name, method="POST", headers=headers, body=body, received_at=at)
    return VerifiedRequest(request=request, source=source, proof=verify(request, source, [keys.secret]))
