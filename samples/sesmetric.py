"""SESMetric's side of its webhooks."""

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


def _sample(kind: str, **data: str) -> Raw:
    return {
        "id": f"evt_{kind}",
        "type": kind,
        "timestamp": "2026-01-01T00:00:05.123Z",
        "data": {"message_id": "0102018f-000001", "recipient": "Ann@Example.com", **data},
    }


SAMPLES: dict[str, Raw] = {
    "send": _sample("send"),
    "delivery": _sample("delivery"),
    "delay": _sample("delay", reason="mailbox full"),
    "bounce": _sample("bounce", bounce_type="Permanent", reason="550 5.1.1 no such user"),
    "soft bounce": {**_sample("bounce", bounce_type="Transient", reason="452 4.2.2 full"), "id": "evt_soft_bounce"},
    "bounce of no class": {**_sample("bounce"), "id": "evt_plain_bounce"},
    "reject": _sample("reject"),
    "open": _sample("open"),
    "click": _sample("click"),
    "complaint": _sample("complaint"),
    "unsubscribe": _sample("unsubscribe"),
    "resubscribe": _sample("resubscribe"),
    "unknown": _sample("account.paused"),
    "bare": {"id": "evt_123", "type": "delivery"},
}

_GENERATED = ("send", "delivery", "delay", "bounce", "soft bounce", "open", "click", "complaint", "unsubscribe")


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Sign timestamp, a dot and the body."""
    stamp = str(int(at.timestamp()))
    signature = hmac.new(keys.signer.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "X-SESMetric-Timestamp": stamp,
        "X-SESMetric-Signature": signature,
    }


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    sample = SAMPLES[rng.choice(_GENERATED)]
    data = {**sample["data"], "message_id": message_id(rng), "recipient": recipient(rng), MARKER[1]: marker}
    return {**sample, "id": f"evt_{marker}", "timestamp": at.isoformat(), "data": data}
