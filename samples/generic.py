"""A sender of signed JSON that no adapter knows."""

import hashlib
import hmac
import json
from datetime import datetime
from random import Random

from samples import Keys, Raw, message_id, recipient, shared_keys

MARKER = ("marker",)
OPTIONS: dict[str, object] = {
    "signature_header": "X-Acme-Signature",
    "prefix": "sha512=",
    "algorithm": "sha512",
    "timestamp_header": "X-Acme-Timestamp",
    "events": "/items",
    "id": "/uid",
    "type": "/what",
    "time": "/at",
    "recipient": "/to/address",
    "message_id": "/mail",
    "reason": "/why",
    "types": {"Returned": "bounced/hard", "Arrived": "delivered", "Annoyed": "complained"},
}
BATCH = 20

make_keys = shared_keys


def _sample(what: str) -> Raw:
    return {
        "uid": f"u-{what}",
        "what": what,
        "at": "2026-01-01T00:00:05+02:00",
        "to": {"address": "Ann@Example.com"},
        "mail": "m-1",
        "why": "550",
    }


SAMPLES: dict[str, Raw] = {
    "mapped bounce": _sample("Returned"),
    "mapped delivery": _sample("Arrived"),
    "mapped complaint": _sample("Annoyed"),
    "one of our own words": _sample("opened"),
    "without an id": {"what": "Arrived", "at": 1767225605, "to": {"address": "ann@example.com"}},
    "unknown": _sample("Pondered"),
}


def body(events: list[Raw]) -> bytes:
    """Serialise a batch where the settings point."""
    return json.dumps({"items": events}).encode()


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Sign timestamp, a dot and the body as the settings say."""
    stamp = str(int(at.timestamp()))
    signature = hmac.new(keys.signer.encode(), f"{stamp}.".encode() + body, hashlib.sha512).hexdigest()
    return {"Content-Type": "application/json", "X-Acme-Timestamp": stamp, "X-Acme-Signature": f"sha512={signature}"}


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    sample = _sample(rng.choice(("Returned", "Arrived", "Annoyed", "Pondered")))
    to = {"address": recipient(rng)}
    return {**sample, "uid": marker, "at": at.isoformat(), "to": to, "mail": message_id(rng), MARKER[0]: marker}
