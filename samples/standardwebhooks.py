"""A sender that follows the Standard Webhooks specification."""

import base64
import hashlib
import hmac
import secrets
from datetime import datetime
from random import Random

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from samples import Keys, Raw, attempt_id, message_id, one_object, recipient

MARKER = ("data", "marker")
OPTIONS: dict[str, object] = {"types": {"mail.bounced": "bounced/hard", "mail.delivered": "delivered"}}
BATCH = 1

body = one_object


def _sample(kind: str, **data: str) -> Raw:
    return {
        "type": kind,
        "timestamp": "2026-01-01T00:00:05.123Z",
        "data": {"recipient": "Ann@Example.com", "message_id": "m-1", **data},
    }


SAMPLES: dict[str, Raw] = {
    "mapped": _sample("mail.bounced", reason="550 5.1.1"),
    "mapped to a plain type": _sample("mail.delivered"),
    "one of our own words": _sample("opened"),
    "unknown": _sample("invoice.paid"),
}


def make_keys() -> Keys:
    """Make a symmetric secret."""
    secret = f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
    return Keys(secret=secret, signer=secret)


def make_key_pair() -> Keys:
    """Make an asymmetric key."""
    private = Ed25519PrivateKey.generate()
    public = base64.b64encode(private.public_key().public_bytes_raw()).decode()
    return Keys(secret=f"whpk_{public}", signer=f"whsk_{base64.b64encode(private.private_bytes_raw()).decode()}")


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Sign id, timestamp and body with either kind of key."""
    stamp = str(int(at.timestamp()))
    message = f"{attempt_id(body)}.{stamp}.".encode() + body
    kind, _, encoded = keys.signer.partition("_")
    key = base64.b64decode(encoded)
    if kind == "whsk":
        version, signature = "v1a", Ed25519PrivateKey.from_private_bytes(key).sign(message)
    else:
        version, signature = "v1", hmac.digest(key, message, hashlib.sha256)
    return {
        "Content-Type": "application/json",
        "webhook-id": attempt_id(body),
        "webhook-timestamp": stamp,
        "webhook-signature": f"{version},{base64.b64encode(signature).decode()}",
    }


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    sample = rng.choice(list(SAMPLES.values()))
    data = {"recipient": recipient(rng), "message_id": message_id(rng), MARKER[1]: marker}
    return {**sample, "timestamp": at.isoformat(), "data": data}
