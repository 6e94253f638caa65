"""SparkPost's side of its webhooks."""

import json
from datetime import datetime
from random import Random

from samples import Keys, Raw, attempt_id, basic_headers, basic_keys, message_id, recipient

MARKER = ("message_event", "rcpt_meta", "marker")
OPTIONS: dict[str, object] = {}
BATCH = 100

make_keys = basic_keys


def _sample(kind: str, number: int, *, group: str = "message_event", **more: str) -> Raw:
    return {
        group: {
            "type": kind,
            "event_id": str(92356927693813800 + number),
            "timestamp": "1767225602",
            "transmission_id": "65832150921904138",
            "rcpt_to": "ann@example.com",
            "raw_rcpt_to": "Ann@Example.com",
            **more,
        }
    }


_PLAIN = ("injection", "delivery", "delay", "policy_rejection", "spam_complaint", "out_of_band")
_TRACK = ("open", "amp_open", "initial_open", "amp_initial_open", "click", "amp_click")
_HARD = ("10", "30", "90")
_SOFT = ("20", "21", "22", "23", "24", "40", "50", "51", "52", "53", "54", "70")

SAMPLES: dict[str, Raw] = {
    **{kind: _sample(kind, number) for number, kind in enumerate(_PLAIN)},
    **{kind: _sample(kind, 10 + number, group="track_event") for number, kind in enumerate(_TRACK)},
    **{f"bounce {code}": _sample("bounce", 100 + int(code), bounce_class=code) for code in (*_HARD, *_SOFT)},
    **{f"bounce {code}": _sample("bounce", 100 + int(code), bounce_class=code) for code in ("25", "60", "80", "1")},
    "challenge": _sample("bounce", 200, bounce_class="100"),
    "out of band hard": _sample("out_of_band", 201, bounce_class="10"),
    "generation_rejection": _sample("generation_rejection", 202, group="gen_event"),
    "generation_failure": _sample(
        "generation_failure", 203, group="gen_event", timestamp="2026-01-01T00:00:02.000+00:00"
    ),
    "list_unsubscribe": _sample("list_unsubscribe", 204, group="unsubscribe_event"),
    "link_unsubscribe": _sample("link_unsubscribe", 205, group="unsubscribe_event"),
    "unknown": _sample("relay_injection", 206, group="relay_event"),
}


def body(events: list[Raw]) -> bytes:
    """Serialise a batch, each event in its wrapping."""
    return json.dumps([{"msys": event} for event in events]).encode()


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Send the credential, and the batch id that every retry repeats."""
    return {**basic_headers(keys), "X-MessageSystems-Batch-ID": attempt_id(body)}


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    kind = rng.choice(("injection", "delivery", "delay", "bounce", "spam_complaint"))
    made: Raw = _sample(kind, 0, bounce_class=rng.choice(("10", "22")))["message_event"]
    return {
        "message_event": {
            **made,
            "event_id": marker,
            "timestamp": str(int(at.timestamp())),
            "transmission_id": message_id(rng),
            "rcpt_to": recipient(rng),
            "rcpt_meta": {MARKER[2]: marker},
        }
    }
