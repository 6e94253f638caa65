"""Mailjet's side of its event callbacks."""

import json
from datetime import datetime
from random import Random

from samples import Keys, Raw, basic_headers, basic_keys, recipient

MARKER = ("CustomID",)
OPTIONS: dict[str, object] = {}
BATCH = 50

make_keys = basic_keys


def _sample(event: str, **more: object) -> Raw:
    return {
        "event": event,
        "time": 1767225602,
        "MessageID": 19421777835146490,
        "email": "Ann@Example.com",
        "CustomID": "order-17",
        **more,
    }


SAMPLES: dict[str, Raw] = {
    "sent": _sample("sent", smtp_reply="sent (250 OK)"),
    "open": _sample("open", ip="192.0.2.1", agent="Mozilla/5.0"),
    "click": _sample("click", url="https://example.com/a", ip="192.0.2.1"),
    "hard bounce": _sample("bounce", hard_bounce=True, blocked=False, error="user unknown", comment="550 5.1.1"),
    "soft bounce": _sample("bounce", hard_bounce=False, blocked=False, error="mailbox full"),
    "soft bounce that stopped the address": _sample("bounce", hard_bounce=False, blocked=True, error="quota exceeded"),
    "greylisted": _sample("bounce", hard_bounce=False, blocked=False, error="greylisted"),
    "blocked for the address": _sample("blocked", error="preblocked", error_related_to="recipient"),
    "blocked for the campaign": _sample("blocked", error="duplicate in campaign", error_related_to="mailjet"),
    "spam": _sample("spam", source="JMRPP"),
    "unsub": _sample("unsub", mj_list_id=0),
    "unsub from a list": _sample("unsub", mj_list_id=7),
    "unknown": _sample("premonition"),
}


def body(events: list[Raw]) -> bytes:
    """Serialise a single event as the older version does, as an object, and several as an array."""
    return json.dumps(events[0] if len(events) == 1 else events).encode()


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Send the credential."""
    return basic_headers(keys)


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event; the number of its message is beyond what a float can hold."""
    sample = SAMPLES[rng.choice(("sent", "open", "click", "hard bounce", "soft bounce", "spam"))]
    number = 19421777000000000 + int.from_bytes(marker.encode()[-5:], "big")
    return {**sample, "time": int(at.timestamp()), "MessageID": number, "email": recipient(rng), MARKER[0]: marker}
