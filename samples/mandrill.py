"""Mandrill's side of its webhooks."""

import base64
import hashlib
import hmac
import json
from datetime import datetime
from random import Random
from urllib.parse import parse_qsl, urlencode

from samples import Keys, Raw, message_id, recipient, shared_keys

MARKER = ("msg", "metadata", "marker")
OPTIONS: dict[str, object] = {"url": "https://hooks.example.org/webhooks/mandrill"}
BATCH = 100

make_keys = shared_keys


def _sample(event: str, **more: object) -> Raw:
    return {
        "event": event,
        "_id": "abc123abc123abc123abc123abc123ab",
        "ts": 1767225605,
        "msg": {"_id": "abc123abc123abc123abc123abc123ab", "ts": 1767225600, "email": "Ann@Example.com", "diag": "550"},
        **more,
    }


def _sync(kind: str, action: str) -> Raw:
    entry = {"email": "Bob@Example.com", "reason": "hard-bounce", "detail": "550 5.1.1"}
    return {"type": kind, "action": action, "ts": 1767229300, "reject": entry}


_KINDS = ("send", "delivered", "deferral", "hard_bounce", "soft_bounce", "open", "click", "spam", "unsub", "reject")

SAMPLES: dict[str, Raw] = {
    **{kind: _sample(kind) for kind in _KINDS},
    "without an outer id": {name: value for name, value in _sample("send", ts=1767225606).items() if name != "_id"},
    "blacklist add": _sync("blacklist", "add"),
    "blacklist change": _sync("blacklist", "change"),
    "blacklist remove": _sync("blacklist", "remove"),
    "whitelist add": _sync("whitelist", "add"),
    "unknown": _sample("premonition"),
}


def body(events: list[Raw]) -> bytes:
    """Serialise as the one field of a form, slashes escaped as PHP does."""
    return urlencode({"mandrill_events": json.dumps(events).replace("/", "\\/")}).encode()


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Sign the URL and the decoded form."""
    form = sorted(parse_qsl(body.decode()))
    message = str(OPTIONS["url"]) + "".join(name + value for name, value in form)
    signature = hmac.digest(keys.signer.encode(), message.encode(), hashlib.sha1)
    return {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Mandrill-Signature": base64.b64encode(signature).decode(),
    }


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    message = {"_id": f"{message_id(rng)}{marker}", "email": recipient(rng), "metadata": {MARKER[2]: marker}}
    return {"event": rng.choice(_KINDS), "_id": message["_id"], "ts": int(at.timestamp()), "msg": message}
