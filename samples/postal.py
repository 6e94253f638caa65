"""Postal's side of its webhooks."""

import base64
from datetime import datetime
from random import Random

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from samples import Keys, Raw, message_id, one_object, recipient

MARKER = ("payload", "message", "tag")
OPTIONS: dict[str, object] = {}
BATCH = 1

body = one_object

_MESSAGE = {"id": 12345, "message_id": "abc@example.org", "to": "Ann@Example.com", "direction": "outgoing"}


def _sample(event: str, **payload: object) -> Raw:
    return {
        "event": event,
        "timestamp": 1767225602.25,
        "uuid": f"uuid-{event}-{payload.get('output', '')}",
        "payload": {"message": _MESSAGE, **payload},
    }


SAMPLES: dict[str, Raw] = {
    "MessageSent": _sample("MessageSent", status="Sent", output="250 OK", timestamp=1767225601.5),
    "MessageDelayed": _sample("MessageDelayed", status="SoftFail", output="451 later"),
    "MessageHeld": _sample("MessageHeld", status="Held", details="Held for review"),
    "dead address": _sample("MessageDeliveryFailed", status="HardFail", output="550 5.1.1 no such user"),
    "refused for policy": _sample("MessageDeliveryFailed", status="HardFail", output="550 5.7.1 spam"),
    "refused without a code": _sample("MessageDeliveryFailed", status="HardFail", details="Rejected"),
    "MessageBounced": {
        **_sample("MessageBounced"),
        "payload": {"original_message": _MESSAGE, "bounce": {"id": 12346}},
    },
    "MessageLoaded": _sample("MessageLoaded", ip_address="192.0.2.1"),
    "MessageLinkClicked": _sample("MessageLinkClicked", url="https://example.com/a"),
    "unknown": {"event": "DomainDNSError", "timestamp": 1767225602.25, "uuid": "uuid-dns", "payload": {"domain": "x"}},
}


def make_keys() -> Keys:
    """Make an RSA key; the secret is the public half, base64 of its DER, as Postal's DKIM record shows it."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    signer = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Keys(secret=base64.b64encode(public).decode(), signer=signer)


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Sign the body twice, as Postal does for receivers old and new."""
    private = load_pem_private_key(keys.signer.encode(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    old = private.sign(body, padding.PKCS1v15(), SHA1())  # noqa: S303  # nosec B303 - as old servers do
    new = private.sign(body, padding.PKCS1v15(), SHA256())
    return {
        "Content-Type": "application/json",
        "X-Postal-Signature": base64.b64encode(old).decode(),
        "X-Postal-Signature-256": base64.b64encode(new).decode(),
    }


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    kind, output = rng.choice(
        (("MessageSent", "250 OK"), ("MessageDelayed", "451"), ("MessageDeliveryFailed", "5.1.1"))
    )
    message = {**_MESSAGE, "message_id": message_id(rng), "to": recipient(rng), MARKER[2]: marker}
    payload = {"message": message, "output": output, "timestamp": at.timestamp()}
    return {"event": kind, "timestamp": at.timestamp(), "uuid": marker, "payload": payload}
