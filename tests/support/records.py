"""Raw events, envelopes and queue records, as short as tests want to write them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from local.testing.proofs import NOW, verified_request
from mailfold.envelope import seal
from mailfold.events import Event
from mailfold.queue import Record
from mailfold.request import Source
from samples import Raw

TOPIC = "arn:aws:sns:eu-west-1:111122223333:ses-events"
TOPICS = {TOPIC: "ses"}
#: `main` sends SESMetric's events, the shortest of all.
SOURCES = {
    name: Source(name=name, provider=provider)
    for name, provider in {"main": "sesmetric", "sendgrid": "sendgrid", "ses": "ses"}.items()
}
NUMBERS = count(1)


def raw(event_id: str, kind: str = "delivery", at: str = "2026-01-01T00:00:00Z", **data: Any) -> Raw:
    """Return one SESMetric event."""
    return {
        "id": event_id,
        "type": kind,
        "timestamp": at,
        "data": {"message_id": "m1", "recipient": "ann@example.com", **data},
    }


def envelopes(events: Sequence[Any], *, source: str = "main", at: datetime = NOW, body: bytes = b"") -> list[str]:
    """Return what receive would queue for one request."""
    verified = verified_request(body or json.dumps(events).encode(), source=SOURCES[source], at=at)
    return [one.text for one in seal(verified, events, headers={})]


def envelope(*events: Any, source: str = "main", at: datetime = NOW, body: bytes = b"") -> str:
    """Return the one envelope of a small request."""
    [text] = envelopes(events, source=source, at=at, body=body)
    return text


def record(body: str, *, receive_count: int = 1, record_id: str | None = None) -> Record:
    """Return one queue record."""
    return Record(
        record_id=record_id or f"r{next(NUMBERS)}",
        body=body,
        receive_count=receive_count,
        sent_at=datetime(2026, 1, 1, 12, tzinfo=UTC),
    )


def notification(record: Raw, message_id: str = "sns-1") -> str:
    """Return a record of SES as its topic puts it on the queue."""
    return json.dumps(
        {"Type": "Notification", "MessageId": message_id, "TopicArn": TOPIC, "Message": json.dumps(record)}
    )


def unstorable(event: Event) -> Event:
    """Return an event that Postgres refuses: its raw does not tell that it holds a NUL."""
    return replace(event, reason="\x00")
