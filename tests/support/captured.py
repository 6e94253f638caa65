"""One captured Mailgun signature, and whatever is sent under it: Mailgun signs a token and nothing of the event."""

import json
from typing import Any

from mailfold.request import Source
from samples import Raw
from samples.mailgun import SAMPLES
from tests.support.desk import Desk

MAILGUN = Source(name="mailgun", provider="mailgun")


class Captured:
    """A signature that was seen on its way, good for any event as far as the door can tell."""

    def __init__(self, token: str = "a-token") -> None:
        self._desk = Desk("mailgun")
        unsigned = {"signature": {"token": token}, "event-data": {"event": "none"}}
        sealed, self._headers = self._desk.signed(json.dumps(unsigned).encode())
        self.signature = json.loads(sealed)["signature"]

    def envelope(self, event: Raw) -> str:
        """Return what receive queues for this event under the signature; it must be answered 200."""
        body = json.dumps({"signature": self.signature, "event-data": event}).encode()
        answer = self._desk.post(body, self._headers)
        assert (answer.status, answer.body) == (200, {"events": 1})
        return self._desk.sqs.bodies[-1]


def event(name: str, kind: str = "delivered", **more: Any) -> Raw:
    """Return an event about one person and one message of the same name."""
    headers = {"message-id": f"{name}@mail"}
    return {
        **SAMPLES[kind],
        "id": name,
        "recipient": f"{name}@example.com",
        "message": {"headers": headers},
        **more,
    }
