"""What each provider really sends: sample events and the sender's half of its signature.

Tests, the demo and the benchmarks all speak through these modules, one per provider, found by the provider's name.
"""

import base64
import hashlib
import importlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Protocol, cast

Raw = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Keys:
    """The two halves of one secret."""

    #: What the source's secret in Secrets Manager holds.
    secret: str
    #: What the provider signs with; the same for a shared secret.
    signer: str


class Sampler(Protocol):
    """The sender's side of one provider."""

    #: Where `generate` puts its marker in the raw event, so that an audit can find each event again.
    MARKER: tuple[str, ...]
    #: How many events one request may carry.
    BATCH: int
    #: One raw event of each kind that the adapter's tables know, by a name of its own.
    SAMPLES: Mapping[str, Raw]
    #: What the source's settings must say beside the provider.
    OPTIONS: Mapping[str, Any]

    def make_keys(self) -> Keys:
        """Make a fresh secret."""

    def body(self, events: list[Raw]) -> bytes:
        """Serialise events as the provider does."""

    def sign(self, body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
        """Return the headers of a request with this body, sent at this time."""

    def generate(self, rng: Random, marker: str, at: datetime) -> Raw:
        """Make one event of a random kind, of one recipient, unlike any other event."""


def signed(sampler: Sampler, body: bytes, keys: Keys, at: datetime) -> tuple[bytes, dict[str, str]]:
    """Return body and headers as they are sent; some providers keep the signature in the body."""
    seal = getattr(sampler, "seal", None)
    sealed = seal(body, keys, at) if seal else body
    return sealed, sampler.sign(sealed, keys, at)


def sampler(provider: str) -> Sampler:
    """Return the sampler of a provider."""
    return cast(Sampler, importlib.import_module(f"samples.{provider}"))


def basic_keys() -> Keys:
    """Make a user and a password for a provider that signs nothing."""
    credential = f"mailfold:{secrets.token_urlsafe(24)}"
    return Keys(secret=f"basic:{credential}", signer=credential)


def basic_headers(keys: Keys) -> dict[str, str]:
    """Return the headers of a request with such a credential."""
    token = base64.b64encode(keys.signer.encode()).decode()
    return {"Content-Type": "application/json", "Authorization": f"Basic {token}"}


def shared_keys() -> Keys:
    """Make a shared secret."""
    secret = secrets.token_urlsafe(32)
    return Keys(secret=secret, signer=secret)


def attempt_id(body: bytes) -> str:
    """Return an id that is the same on every attempt to send this body."""
    return f"msg_{hashlib.sha256(body).hexdigest()[:24]}"


def one_object(events: list[Raw]) -> bytes:
    """Serialise the one event of a request."""
    (event,) = events
    return json.dumps(event).encode()


def message_id(rng: Random) -> str:
    """Return the id of one of a thousand messages, so that messages gather several events."""
    return f"msg{rng.randrange(1000):04d}"


def recipient(rng: Random) -> str:
    """Return one of two hundred addresses, so that addresses gather several events."""
    return f"user{rng.randrange(200):03d}@example.com"
