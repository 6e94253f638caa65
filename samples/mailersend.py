"""MailerSend's side of its webhooks."""

import hashlib
import hmac
from datetime import datetime
from random import Random

from samples import Keys, Raw, message_id, one_object, recipient, shared_keys

MARKER = ("data", "marker")
OPTIONS: dict[str, object] = {}
BATCH = 1

make_keys = shared_keys
body = one_object

_KINDS = (
    "sent",
    "deferred",
    "delivered",
    "soft_bounced",
    "hard_bounced",
    "opened",
    "opened_unique",
    "clicked",
    "clicked_unique",
    "unsubscribed",
    "spam_complaint",
)


def _sample(kind: str) -> Raw:
    return {
        "type": f"activity.{kind}",
        "created_at": "2026-01-01T00:00:00.000000Z",
        "webhook_id": "w1",
        "data": {
            "id": "63fd251d5c00f8e52001fce6",
            "type": kind,
            "created_at": "2026-01-01T00:00:05.593000Z",
            "email": {"message": {"id": "m1"}, "recipient": {"email": "Ann@Example.com"}, "tags": None},
            "morph": {"object": "recipient_bounce", "reason": "Host or domain name not found"},
        },
    }


SAMPLES: dict[str, Raw] = {
    **{kind: _sample(kind) for kind in _KINDS},
    "without a morph": {**_sample("sent"), "data": {**_sample("sent")["data"], "morph": None, "id": "63fd"}},
    "unknown": {"type": "webhook.test", "created_at": "2026-01-01T00:00:00.000000Z", "data": {}},
}


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Sign the body."""
    signature = hmac.new(keys.signer.encode(), body, hashlib.sha256).hexdigest()
    return {"Content-Type": "application/json", "Signature": signature}


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    kind = rng.choice(_KINDS)
    email = {"message": {"id": message_id(rng)}, "recipient": {"email": recipient(rng)}}
    data = {"id": marker, "type": kind, "created_at": at.isoformat(), "email": email, "morph": None, MARKER[1]: marker}
    return {"type": f"activity.{kind}", "data": data}
