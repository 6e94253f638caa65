"""What stands on the queue: one claimable list of raw events of one source."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from mailfold.errors import MalformedPayload, NotAnEnvelope, TooLarge
from mailfold.events import Raw
from mailfold.jsontext import dumps, loads
from mailfold.request import VerifiedRequest

VERSION = 1
#: SQS bills by 64 KB; the rest is room for the head.
TARGET_BYTES = 60_000
#: SQS takes 1 MiB for a record and for a batch of records.
LARGEST_BYTES = 900_000


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """Some events of one request, and the key under which they are processed once."""

    source: str
    provider: str
    claim_key: str
    #: Digest of the events: the same key with another hash is not a retry but a collision.
    request_hash: str
    received_at: datetime
    #: The request headers that the provider's parse needs.
    headers: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[Raw]

    @classmethod
    def loads(cls, body: Mapping[str, Any]) -> "Envelope":
        """Read one from a queue record's parsed body."""
        if body.get("mailfold") != VERSION:
            raise NotAnEnvelope(f"not an envelope of version {VERSION}")
        try:
            return cls(
                source=str(body["source"]),
                provider=str(body["provider"]),
                claim_key=str(body["claim_key"]),
                request_hash=str(body["request_hash"]),
                received_at=datetime.fromisoformat(body["received_at"]),
                headers=dict(body["headers"]),
                events=list(body["events"]),
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise NotAnEnvelope(f"an envelope without a proper {exc}") from exc


@dataclass(frozen=True, kw_only=True)
class SealedEnvelope:
    """An envelope as the queue takes it; only `seal` makes one, and only of a verified request."""

    claim_key: str
    text: str


def seal(
    verified: VerifiedRequest, events: Sequence[Raw], *, headers: Mapping[str, str], key: str | None = None
) -> list[SealedEnvelope]:
    """Split the events of one request into envelopes; a retry of the same bytes, or key, yields the same claim keys."""
    claim = f"{verified.source.name}:{f'key:{key}' if key else hash_body(verified.request.body)}"
    return [
        _seal_one(verified, f"{claim}:{index}", chunk, headers)
        for index, chunk in enumerate(_chunks([_event_text(event) for event in events]))
    ]


def _seal_one(
    verified: VerifiedRequest, claim_key: str, chunk: Sequence[str], headers: Mapping[str, str]
) -> SealedEnvelope:
    events = ",".join(chunk)
    head = dumps(
        {
            "mailfold": VERSION,
            "source": verified.source.name,
            "provider": verified.source.provider,
            "claim_key": claim_key,
            "request_hash": hash_events(events),
            "received_at": verified.request.received_at.astimezone(UTC).isoformat(),
            "headers": dict(headers),
        }
    )
    return SealedEnvelope(claim_key=claim_key, text=f'{head[:-1]},"events":[{events}]}}')


def hash_body(body: bytes) -> str:
    """Return the digest under which a request without a key of its own is claimed."""
    return sha256(body).hexdigest()[:32]


def hash_events(text: str) -> str:
    """Return the digest that binds a claim key to what it was first used for."""
    return sha256(text.encode()).hexdigest()[:32]


def _event_text(event: Raw) -> str:
    text = dumps(event)
    if len(text) > LARGEST_BYTES:
        raise TooLarge("one event exceeds what a queue record can carry")
    return text


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for text in texts:
        if chunk and size + len(text) > TARGET_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += len(text) + 1
    if chunk:
        yield chunk


def parse_record(text: str) -> Mapping[str, Any]:
    """Return a queue record's body as an object."""
    try:
        body = loads(text)
    except MalformedPayload as exc:
        raise NotAnEnvelope(str(exc)) from exc
    if not isinstance(body, dict):
        raise NotAnEnvelope("the record is JSON but not an object")
    return body
