"""Synthetic SendGrid traffic: some 600 bytes an event, each message with a life of its own."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from random import Random
from typing import Any

from local.testing.proofs import verified_request
from mailfold.envelope import seal
from mailfold.request import Source
from samples import Raw

SOURCE = Source(name="sendgrid", provider="sendgrid")
SOURCES = json.dumps({"sendgrid": {"provider": "sendgrid"}})
RECEIVED_AT = datetime(2026, 11, 18, 12, tzinfo=UTC)
_LIVES = (
    (60, ("processed", "delivered", "open")),
    (25, ("processed", "delivered")),
    (8, ("processed", "delivered", "open", "click")),
    (4, ("processed", "deferred", "bounce")),
    (3, ("processed", "delivered", "spamreport")),
)
_AGENT = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148"
_WORDS: dict[str, Raw] = {
    "processed": {"smtp-id": "<14c5d75ce93.dfd.64b469@ismtpd-555>"},
    "delivered": {"response": "250 2.0.0 OK  1763467200 x5-20020a05600c1c0500b003f9bbcd1 - gsmtp", "tls": 1},
    "deferred": {"response": "451 4.3.0 Temporary system problem. Try again later", "attempt": "2"},
    "bounce": {"type": "bounce", "status": "5.1.1", "reason": "550 5.1.1 The email account does not exist"},
    "open": {"sg_machine_open": False},
    "click": {"url": "https://example.com/news/2026/11/18/a-longer-link?utm_source=newsletter"},
    "spamreport": {},
}


class Traffic:
    """An endless stream of events that nobody has seen before."""

    def __init__(self, seed: int = 1) -> None:
        self._rng = Random(seed)
        self._seed = seed
        self._numbers = count()
        self._ahead: list[Raw] = []

    def events(self, number: int) -> list[Raw]:
        """Return the next events, in the order in which they happened."""
        while len(self._ahead) < number:
            self._ahead += self._life()
        events, self._ahead = self._ahead[:number], self._ahead[number:]
        return events

    def _life(self) -> list[Raw]:
        message = sha256(f"{self._seed}:{next(self._numbers)}".encode()).hexdigest()
        (kinds,) = self._rng.choices([kinds for _, kinds in _LIVES], [weight for weight, _ in _LIVES])
        return [self._event(kind, message, step) for step, kind in enumerate(kinds)]

    def _event(self, kind: str, message: str, step: int) -> Raw:
        return {
            "email": f"{message[:10]}@example.com",
            "timestamp": 1763467200 + step,
            "event": kind,
            "sg_event_id": f"{message[10:30]}{step}",
            "sg_message_id": f"{message[:22]}.recvd-6d8f9c7b5-x2x7k-1-66E2A1F4-19.0",
            "category": ["newsletter", "2026-11"],
            "ip": "203.0.113.7",
            "useragent": _AGENT,
            "sg_content_type": "html",
            "ip_pool": "transactional-eu-west",
            "campaign_id": "c-2026-11-18",
            "template": "d-5f2b9c1e8a7d4f3b",
            "account_id": message[30:42],
            **_WORDS[kind],
        }


def envelopes(events: Sequence[Any]) -> list[str]:
    """Return what receive would queue for one request with these events."""
    verified = verified_request(json.dumps(events).encode(), source=SOURCE, at=RECEIVED_AT)
    return [one.text for one in seal(verified, events, headers={})]
