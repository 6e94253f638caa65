"""Brevo: every row of its table, four names of a time and one that is none, and batches of three shapes."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.brevo import TYPES
from samples.brevo import SAMPLES
from tests.support.endpoint import Endpoint, meaning, read

MEANINGS = {
    "request": "processed",
    "delivered": "delivered",
    "deferred": "deferred",
    "soft_bounce": "bounced/soft",
    "hard_bounce": "bounced/hard suppress",
    "invalid_email": "dropped suppress",
    "blocked": "dropped suppress",
    "error": "dropped",
    "opened": "opened",
    "unique_opened": "opened",
    "proxy_open": "opened by a machine",
    "unique_proxy_open": "opened by a machine",
    "click": "clicked",
    "spam": "complained suppress",
    "complaint": "complained suppress",
    "unsubscribed": "unsubscribed suppress",
    "unsubscribe": "unsubscribed suppress",
    "unknown": "other",
}

SECOND = datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)


def changed(name: str, **change: Any) -> Event:
    return read("brevo", {key: value for key, value in {**SAMPLES[name], **change}.items() if value is not ...})


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("brevo")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(changed(name)) == MEANINGS[name]


def test_each_type_of_the_table_has_a_sample() -> None:
    assert TYPES.keys() <= {raw["event"] for raw in SAMPLES.values()}


@pytest.mark.parametrize("kind", ["list_addition", "contact_updated", "contact_deleted", "hardBounce"])
def test_words_that_are_not_about_a_mail_are_other(kind: str) -> None:
    assert meaning(changed("delivered", event=kind)) == "other"


@pytest.mark.parametrize(
    ("times", "milliseconds"),
    [
        ({"ts_epoch": 1767225602372, "ts_event": 1, "ts": 2}, 372),
        ({"ts_epoch": "1767225602372", "ts_event": ..., "ts": ...}, 372),
        ({"ts_epoch": ..., "s_epoch": 1767225602372, "ts_event": 1}, 372),
        ({"ts_epoch": ..., "ts_event": 1767225602, "ts": 1}, 0),
        ({"ts_epoch": ..., "ts_event": ..., "ts": 1767225602}, 0),
    ],
    ids=str,
)
def test_the_most_exact_time_is_taken(times: dict[str, Any], milliseconds: int) -> None:
    assert changed("delivered", **times).occurred_at == SECOND + timedelta(milliseconds=milliseconds)


def test_the_date_is_in_an_unknown_zone_and_never_read() -> None:
    assert changed("delivered", date="1999-01-01 00:00:00").occurred_at.year == 2026
    with pytest.raises(UnparseableEvent, match="no time"):
        changed("delivered", ts_epoch=..., ts_event=..., date="2026-01-01 01:00:02")


def test_the_fields_are_read() -> None:
    event = changed("hard_bounce")

    assert event.message_id == "202601010000.1@smtp-relay.mailin.fr"
    assert (event.recipient, event.reason) == ("ann@example.com", "550 5.1.1 no such user")


def test_the_id_is_the_webhooks_and_identifies_nothing() -> None:
    assert changed("delivered", id=1).event_id == changed("delivered", id=2).event_id


@pytest.mark.parametrize(
    "change",
    [
        {"event": "opened"},
        {"email": "bob@example.com"},
        {"message-id": "<other@smtp-relay.mailin.fr>"},
        {"ts_epoch": 1767225602373},
        {"link": "https://example.com/b"},
    ],
    ids=str,
)
def test_whatever_else_differs_makes_another_event(change: dict[str, Any]) -> None:
    assert changed("click", **change).event_id != changed("click").event_id


def test_an_address_in_other_letters_is_the_same_event() -> None:
    assert changed("click", email="ANN@example.com").event_id == changed("click").event_id


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(SAMPLES["click"]),
        json.dumps([SAMPLES["click"]]),
        json.dumps({"events": [SAMPLES["click"]]}),
        json.dumps({"items": [SAMPLES["click"]]}),
    ],
    ids=["object", "array", "events", "items"],
)
def test_one_event_comes_in_four_wrappings(endpoint: Endpoint, body: str) -> None:
    assert endpoint.post_signed(body.encode()).status == 200
    assert endpoint.queued == [SAMPLES["click"]]


def test_a_batch_of_five_hundred_is_one_request(endpoint: Endpoint) -> None:
    batch = [{**SAMPLES["opened"], "ts_epoch": 1767225602000 + number} for number in range(500)]

    assert endpoint.post_signed(json.dumps(batch).encode()).status == 200
    assert endpoint.queued == batch


@pytest.mark.parametrize("name", ["delivered", "click"])
def test_an_event_without_a_kind_is_unparseable(name: str) -> None:
    with pytest.raises(UnparseableEvent, match="no event"):
        changed(name, event=...)
