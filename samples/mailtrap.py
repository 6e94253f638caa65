"""Mailtrap's side of its webhooks."""

import hashlib
import hmac
import json
from datetime import datetime
from random import Random

from samples import Keys, Raw, message_id, recipient, shared_keys

MARKER = ("custom_variables", "marker")
OPTIONS: dict[str, object] = {}
BATCH = 100

make_keys = shared_keys

_KINDS = ("delivery", "open", "click", "bounce", "soft bounce", "spam", "unsubscribe", "reject", "suspension")


def _sample(event: str) -> Raw:
    return {
        "event": event,
        "event_id": f"evt-{event}",
        "message_id": "1df37d17-0286-4d8b-8edf-bc4ec5be86e6",
        "email": "Ann@Example.com",
        "timestamp": 1767225602,
        "sending_stream": "transactional",
        "response": "550 5.1.1",
    }


SAMPLES: dict[str, Raw] = {**{kind: _sample(kind) for kind in _KINDS}, "unknown": _sample("premonition")}


def body(events: list[Raw]) -> bytes:
    """Serialise a batch."""
    return json.dumps({"events": events}).encode()


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Sign the body."""
    signature = hmac.new(keys.signer.encode(), body, hashlib.sha256).hexdigest()
    return {"Content-Type": "application/json", "Mailtrap-Signature": signature}


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    return {
        **_sample(rng.choice(_KINDS)),
        "event_id": marker,
        "message_id": message_id(rng),
        "email": recipient(rng),
        "timestamp": int(at.timestamp()),
        "custom_variables": {MARKER[1]: marker},
    }
