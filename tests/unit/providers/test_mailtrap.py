"""Mailtrap: every row of its table, and batches that are signed whole."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.mailtrap import TYPES
from samples.mailtrap import SAMPLES
from tests.support.endpoint import Endpoint, meaning, read

MEANINGS = {
    "delivery": "delivered",
    "open": "opened",
    "click": "clicked",
    "bounce": "bounced/hard suppress",
    "soft bounce": "bounced/soft",
    "spam": "complained suppress",
    "unsubscribe": "unsubscribed suppress",
    "reject": "dropped suppress",
    "suspension": "deferred",
    "unknown": "other",
}


def changed(name: str, **change: Any) -> Event:
    return read("mailtrap", {**SAMPLES[name], **change})


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("mailtrap")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(changed(name)) == MEANINGS[name]


def test_each_type_of_the_table_has_a_sample() -> None:
    assert TYPES.keys() <= {raw["event"] for raw in SAMPLES.values()}


def test_the_fields_are_read() -> None:
    event = changed("bounce")

    assert event.event_id == "mailtrap:evt-bounce"
    assert event.message_id == "1df37d17-0286-4d8b-8edf-bc4ec5be86e6"
    assert event.recipient == "ann@example.com"
    assert event.occurred_at == datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert event.reason == "550 5.1.1"


@pytest.mark.parametrize("gone", ["event", "event_id", "timestamp"])
def test_an_event_without_what_makes_it_one_is_unparseable(gone: str) -> None:
    with pytest.raises(UnparseableEvent):
        changed("open", **{gone: None})


def test_a_batch_is_cut_into_its_events(endpoint: Endpoint) -> None:
    assert endpoint.post_samples(*SAMPLES).body == {"events": len(SAMPLES)}
    assert endpoint.queued == list(SAMPLES.values())


@pytest.mark.parametrize("body", [{}, {"events": {}}, {"events": [5]}, [], [SAMPLES["open"]]], ids=str)
def test_a_genuine_body_without_an_array_of_events_is_malformed(endpoint: Endpoint, body: Any) -> None:
    assert endpoint.post_signed(json.dumps(body).encode()).status == 400
