"""Mailgun's side of its webhooks."""

import hashlib
import hmac
import json
from datetime import datetime
from random import Random

from samples import Keys, Raw, message_id, recipient, shared_keys

MARKER = ("user-variables", "marker")
OPTIONS: dict[str, object] = {}
BATCH = 1

make_keys = shared_keys


def _sample(event: str, number: int, **more: object) -> Raw:
    return {
        "event": event,
        "id": f"CPgfbmQMTCKtHW6uIWtu{number:02d}",
        "timestamp": 1767225602.153125 + number,
        "recipient": "Ann@Example.com",
        "message": {"headers": {"to": "ann@example.com", "message-id": "20260101000000.1.ABCDEF@example.org"}},
        "user-variables": {"order": "17"},
        **more,
    }


def _failed(number: int, severity: str, reason: str, code: int, message: str = "") -> Raw:
    status = {"code": code, "message": message, "attempt-no": 1}
    return _sample("failed", number, severity=severity, reason=reason, **{"delivery-status": status})


SAMPLES: dict[str, Raw] = {
    "accepted": _sample("accepted", 1),
    "delivered": _sample("delivered", 2, **{"delivery-status": {"code": 250, "message": "OK"}}),
    "temporary failure": _failed(3, "temporary", "generic", 452, "4.2.2 full"),
    "permanent failure": _failed(4, "permanent", "bounce", 550, "5.1.1 no such user"),
    "dead address": _failed(5, "permanent", "generic", 550, "5.1.1 no such user"),
    "given up": _failed(6, "permanent", "old", 602, "too old"),
    "failure of no class": _failed(7, "permanent", "generic", 554, "refused"),
    "suppressed by code": _failed(8, "permanent", "generic", 605, "not delivering to previously bounced address"),
    "suppressed by reason": _failed(9, "permanent", "suppress-bounce", 550),
    "no delivery status": _sample("failed", 10, severity="permanent", reason="bounce", **{"delivery-status": None}),
    "rejected": {
        **{name: value for name, value in _sample("rejected", 11).items() if name != "recipient"},
        "reject": {"reason": "bad content"},
    },
    "opened": _sample("opened", 12),
    "opened by a machine": _sample("opened", 13, **{"client-info": {"bot": "apple"}}),
    "clicked": _sample("clicked", 14, url="https://example.com/a", **{"client-info": {"bot": ""}}),
    "unsubscribed": _sample("unsubscribed", 15),
    "unsubscribed from a tag": _sample("unsubscribed", 16, tags=["weekly"]),
    "unsubscribed from a list": _sample("unsubscribed", 17, **{"mailing-list": {"address": "news@example.org"}}),
    "complained": _sample("complained", 18),
    "unknown": _sample("stored", 19),
}

_GENERATED = ("accepted", "delivered", "temporary failure", "permanent failure", "opened", "clicked", "complained")


def body(events: list[Raw]) -> bytes:
    """Serialise the one event; `sign` puts the signature in place of the zeros, since Mailgun keeps it in the body."""
    (event,) = events
    # The token is as good as random, and the same on every retry of this event.
    token = hashlib.sha256(json.dumps(event, sort_keys=True).encode()).hexdigest()[:50]
    signature = {"timestamp": "0" * 10, "token": token, "signature": "0" * 64}
    return json.dumps({"signature": signature, "event-data": event}).encode()


def seal(body: bytes, keys: Keys, at: datetime) -> bytes:
    """Return the body with its signature in place."""
    request = json.loads(body)
    stamp, token = str(int(at.timestamp())), request["signature"]["token"]
    signature = hmac.new(keys.signer.encode(), (stamp + token).encode(), hashlib.sha256).hexdigest()
    request["signature"] |= {"timestamp": stamp, "signature": signature}
    return json.dumps(request).encode()


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Return the headers, which prove nothing."""
    return {"Content-Type": "application/json"}


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    sample = SAMPLES[rng.choice(_GENERATED)]
    headers = {"message-id": f"{message_id(rng)}.{marker}@example.org"}
    return {
        **sample,
        "id": f"demo-{marker}",
        "timestamp": at.timestamp(),
        "recipient": recipient(rng),
        "message": {"headers": headers},
        "user-variables": {MARKER[1]: marker},
    }
