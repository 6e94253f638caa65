"""Resend's side of its webhooks, which Svix sends."""

import base64
import hashlib
import hmac
import secrets
from datetime import datetime
from random import Random

from samples import Keys, Raw, attempt_id, message_id, one_object, recipient

MARKER = ("data", "tags", "marker")
OPTIONS: dict[str, object] = {}
BATCH = 1

body = one_object


def _sample(kind: str, **data: object) -> Raw:
    return {
        "type": kind,
        "created_at": "2026-01-01T00:00:02.126Z",
        "data": {"email_id": "00000000-bbbb-4000-8000-000000000001", "to": ["Ann <Ann@Example.com>"], **data},
    }


def _bounce(kind: str, subtype: str) -> Raw:
    bounce = {"type": kind, "subType": subtype, "message": "bounced", "diagnosticCode": ["smtp; 550 5.1.1"]}
    return _sample("email.bounced", bounce=bounce)


SAMPLES: dict[str, Raw] = {
    "email.scheduled": _sample("email.scheduled"),
    "email.sent": _sample("email.sent"),
    "email.delivered": _sample("email.delivered"),
    "email.delivery_delayed": _sample("email.delivery_delayed"),
    "permanent bounce": _bounce("Permanent", "General"),
    "transient bounce": _bounce("Transient", "MailboxFull"),
    "undetermined bounce": _bounce("Undetermined", "Undetermined"),
    "bounce without a type": _sample("email.bounced", bounce={"message": "gone"}),
    "suppressed bounce": _bounce("Permanent", "Suppressed"),
    "email.suppressed": _sample("email.suppressed"),
    "email.failed": _sample("email.failed", failed={"reason": "reached_daily_quota"}),
    "email.opened": _sample("email.opened"),
    "email.clicked": _sample("email.clicked", click={"link": "https://example.com/a"}),
    "email.complained": _sample("email.complained"),
    "of several recipients": _sample("email.delivered", to=["ann@example.com", "bob@example.com"]),
    "suppression.added": _sample("suppression.added", to=[], email="bob@example.com", origin="bounce"),
    "suppression.removed": _sample("suppression.removed", to=[], email="bob@example.com", origin="manual"),
    "contact unsubscribed": _sample("contact.updated", to=[], email="bob@example.com", unsubscribed=True),
    "contact updated": _sample("contact.updated", to=[], email="bob@example.com", unsubscribed=False),
    "unknown": _sample("domain.created"),
}

_GENERATED = ("email.sent", "email.delivered", "permanent bounce", "transient bounce", "email.opened", "email.clicked")


def make_keys() -> Keys:
    """Make a secret of Svix's form."""
    secret = f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"
    return Keys(secret=secret, signer=secret)


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Sign id, timestamp and body."""
    stamp, key = str(int(at.timestamp())), base64.b64decode(keys.signer.removeprefix("whsec_"))
    message = f"{attempt_id(body)}.{stamp}.".encode() + body
    signature = base64.b64encode(hmac.digest(key, message, hashlib.sha256)).decode()
    return {
        "Content-Type": "application/json",
        "svix-id": attempt_id(body),
        "svix-timestamp": stamp,
        "svix-signature": f"v1,{signature}",
    }


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    sample = SAMPLES[rng.choice(_GENERATED)]
    data = {
        **sample["data"],
        "email_id": f"{message_id(rng)}-{marker}",
        "to": [recipient(rng)],
        "tags": {MARKER[2]: marker},
    }
    return {**sample, "created_at": at.isoformat(), "data": data}
