"""MailWebhook's side of its deliveries."""

import base64
import hashlib
import hmac
from datetime import datetime
from random import Random

from samples import Keys, Raw, message_id, one_object, recipient, shared_keys

MARKER = ("marker",)
OPTIONS: dict[str, object] = {"types": {"reply": "other", "bounce": "bounced/hard"}}
BATCH = 1

make_keys = shared_keys
body = one_object

_MAIL = {"timestamp": "2026-01-01T00:00:05Z", "recipient": "Ann@Example.com", "message_id": "<m-1@example.org>"}

SAMPLES: dict[str, Raw] = {
    "mapped": {**_MAIL, "type": "bounce"},
    "reply": {**_MAIL, "type": "reply"},
    "unknown": {**_MAIL, "type": "invoice", "total": 17},
    "without a type": {"subject": "Hi", "from": "ann@example.com"},
}


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Sign timestamp and body; the idempotency key is the same on every attempt."""
    stamp = str(int(at.timestamp()))
    digest = hmac.digest(keys.signer.encode(), f"{stamp}.".encode() + body, hashlib.sha256)
    return {
        "Content-Type": "application/json",
        "X-Idempotency-Key": hashlib.sha256(b"route|" + body).hexdigest(),
        "X-MailWebhook-Signature": f"t={stamp}, kid=k1, v1={base64.b64encode(digest).decode()}",
    }


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    kind = rng.choice(("bounce", "reply", "invoice"))
    mail = {"timestamp": at.isoformat(), "recipient": recipient(rng), "message_id": message_id(rng)}
    return {**mail, "type": kind, MARKER[0]: marker}
