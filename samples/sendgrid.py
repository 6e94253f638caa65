"""SendGrid's side of its Event Webhook."""

import base64
import json
from datetime import datetime
from random import Random

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from samples import Keys, Raw, message_id, recipient

MARKER = ("demo_marker",)
OPTIONS: dict[str, object] = {}
BATCH = 200

_MAIL = {"email": "Ann@Example.com", "timestamp": 1767225600, "sg_message_id": "Ab3dEf6hIj9lMn2pQr5tUv.recvd-6d8f-1.0"}

SAMPLES: dict[str, Raw] = {
    "processed": {**_MAIL, "event": "processed", "sg_event_id": "cHJvY2Vzc2Vk", "smtp-id": "<a@geopod>"},
    "deferred": {**_MAIL, "event": "deferred", "sg_event_id": "ZGVm", "attempt": "3", "response": "451 try later"},
    "delivered": {**_MAIL, "event": "delivered", "sg_event_id": "ZGVsaXZlcmVk", "response": "250 2.0.0 OK", "tls": 1},
    "bounce": {
        **_MAIL,
        "event": "bounce",
        "type": "bounce",
        "status": "5.1.1",
        "reason": "550 no",
        "sg_event_id": "Ym",
    },
    "blocked": {**_MAIL, "event": "bounce", "type": "blocked", "status": "5.7.1", "reason": "554", "sg_event_id": "Yk"},
    "bounce without type": {**_MAIL, "event": "bounce", "status": "4.2.2", "reason": "452 full", "sg_event_id": "Yl"},
    "bounce of no class": {**_MAIL, "event": "bounce", "reason": "lost", "sg_event_id": "Yn"},
    "dropped for the address": {**_MAIL, "event": "dropped", "reason": "Bounced Address", "sg_event_id": "ZHJvcA"},
    "dropped for the content": {**_MAIL, "event": "dropped", "reason": "Spam Content", "sg_event_id": "ZHJvcB"},
    "open": {**_MAIL, "event": "open", "sg_event_id": "aaaaaaaaaaaaaaaaaaaaaa", "useragent": "Mozilla/5.0"},
    "machine open": {**_MAIL, "event": "open", "sg_event_id": "aaaaaaaaaaaaaaaaaaaaab", "sg_machine_open": True},
    "click": {**_MAIL, "event": "click", "sg_event_id": "bbbbbbbbbbbbbbbbbbbbbb", "url": "https://example.com/a"},
    "spamreport": {**_MAIL, "event": "spamreport", "sg_event_id": "cccccccccccccccccccccc"},
    "unsubscribe": {"email": "ann@example.com", "timestamp": 1767225704, "event": "unsubscribe"},
    "group_unsubscribe": {**_MAIL, "event": "group_unsubscribe", "sg_event_id": "ddddddddddddd", "asm_group_id": 10},
    "group_resubscribe": {**_MAIL, "event": "group_resubscribe", "sg_event_id": "eeeeeeeeeeeee", "asm_group_id": 10},
    "unknown": {"event": "account_status_change", "timestamp": 1767225705, "type": "compliance_suspend"},
}

_GENERATED = (
    "processed",
    "deferred",
    "delivered",
    "bounce",
    "blocked",
    "open",
    "click",
    "spamreport",
    "group_unsubscribe",
)


def make_keys() -> Keys:
    """Make a P-256 key pair; the secret is the public key, base64 of its DER, as SendGrid's dashboard shows it."""
    private = ec.generate_private_key(ec.SECP256R1())
    public = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    signer = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Keys(secret=base64.b64encode(public).decode(), signer=signer)


def body(events: list[Raw]) -> bytes:
    """Serialise with SendGrid's line ends, which are signed too."""
    return b"[" + b",\r\n".join(json.dumps(event).encode() for event in events) + b"]\r\n"


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Sign timestamp and body."""
    stamp = str(int(at.timestamp()))
    private = load_pem_private_key(keys.signer.encode(), None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    signature = private.sign(stamp.encode() + body, ec.ECDSA(SHA256()))
    return {
        "Content-Type": "application/json",
        "X-Twilio-Email-Event-Webhook-Timestamp": stamp,
        "X-Twilio-Email-Event-Webhook-Signature": base64.b64encode(signature).decode(),
    }


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event; the marker travels as a custom argument, which SendGrid flattens into the event."""
    return {
        **SAMPLES[rng.choice(_GENERATED)],
        "email": recipient(rng),
        "timestamp": int(at.timestamp()),
        "sg_event_id": f"demo-{marker}",
        "sg_message_id": f"{message_id(rng)}{marker}.recvd-1.0",
        MARKER[0]: marker,
    }
