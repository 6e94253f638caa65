"""Unisender Go's side of its callbacks."""

import hashlib
import json
from datetime import datetime
from random import Random

from samples import Keys, Raw, message_id, recipient, shared_keys

MARKER = ("event_data", "metadata", "marker")
OPTIONS: dict[str, object] = {}
BATCH = 50

make_keys = shared_keys

_KINDS = ("sent", "delivered", "opened", "clicked", "unsubscribed", "subscribed", "spam")
_BOUNCES = ("soft_bounced", "hard_bounced")
_PLACE = "0" * 32


def _sample(status: str, delivery_status: str = "") -> Raw:
    info = {"delivery_status": delivery_status, "destination_response": "550 5.1.1"} if delivery_status else {}
    return {
        "event_name": "transactional_email_status",
        "event_data": {
            "job_id": "1a3Q2V-0000OZ-S0",
            "email": "Ann@Example.com",
            "status": status,
            "event_time": "2026-01-01 00:00:05",
            "delivery_info": info,
        },
    }


SAMPLES: dict[str, Raw] = {
    **{kind: _sample(kind) for kind in (*_KINDS, *_BOUNCES)},
    "still tried": _sample("soft_bounced", "err_will_retry"),
    "full mailbox": _sample("soft_bounced", "err_mailbox_full"),
    "no such user": _sample("hard_bounced", "err_user_unknown"),
    "taken for spam": _sample("hard_bounced", "err_spam_rejected"),
    "had unsubscribed": _sample("hard_bounced", "err_unsubscribed"),
    "unknown": {"event_name": "transactional_spam_block", "event_data": {"block_time": "2026-01-01 00:00:05"}},
}


def body(events: list[Raw]) -> bytes:
    """Serialise the events of one user; `seal` puts the digest in place of the zeros."""
    return json.dumps({"auth": _PLACE, "events_by_user": [{"user_id": 456, "events": events}]}).encode()


def seal(body: bytes, keys: Keys, at: datetime) -> bytes:
    """Return the body with its digest in place of the API key."""
    keyed = body.replace(_PLACE.encode(), keys.signer.encode())
    return body.replace(_PLACE.encode(), hashlib.md5(keyed).hexdigest().encode())  # noqa: S324  # nosec B324 - as the provider does


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Return the headers, which prove nothing."""
    return {"Content-Type": "application/json"}


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    sample = _sample(rng.choice(_KINDS))
    data = {
        **sample["event_data"],
        "job_id": f"{message_id(rng)}-{marker}",
        "email": recipient(rng),
        "event_time": at.strftime("%Y-%m-%d %H:%M:%S"),
        "metadata": {MARKER[2]: marker},
    }
    return {**sample, "event_data": data}
