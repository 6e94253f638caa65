"""Brevo's side of its webhooks."""

import json
from datetime import datetime
from random import Random

from samples import Keys, Raw, basic_headers, basic_keys, message_id, recipient

MARKER = ("marker",)
OPTIONS: dict[str, object] = {}
BATCH = 100

make_keys = basic_keys

_KINDS = (
    "request",
    "delivered",
    "deferred",
    "soft_bounce",
    "hard_bounce",
    "invalid_email",
    "blocked",
    "error",
    "opened",
    "unique_opened",
    "proxy_open",
    "unique_proxy_open",
    "click",
    "spam",
    "complaint",
    "unsubscribed",
    "unsubscribe",
)


def _sample(event: str) -> Raw:
    return {
        "id": 814119,
        "event": event,
        "email": "Ann@Example.com",
        "message-id": "<202601010000.1@smtp-relay.mailin.fr>",
        "date": "2026-01-01 01:00:02",
        "ts_event": 1767225602,
        "ts_epoch": 1767225602372,
        "reason": "550 5.1.1 no such user",
    }


SAMPLES: dict[str, Raw] = {**{kind: _sample(kind) for kind in _KINDS}, "unknown": _sample("list_addition")}


def body(events: list[Raw]) -> bytes:
    """Serialise one event as an object and several as an array."""
    return json.dumps(events[0] if len(events) == 1 else events).encode()


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Send the credential."""
    return basic_headers(keys)


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    sample = _sample(rng.choice(("request", "delivered", "soft_bounce", "hard_bounce", "opened", "click", "spam")))
    stamp = int(at.timestamp() * 1000)
    message = f"<{message_id(rng)}.{marker}@smtp-relay.mailin.fr>"
    return {**sample, "email": recipient(rng), "message-id": message, "ts_epoch": stamp, MARKER[0]: marker}
