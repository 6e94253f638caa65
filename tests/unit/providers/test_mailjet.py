"""Mailjet: every row of its tables, an object or an array, and numbers that a float cannot hold."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.mailjet import STOPPING_BLOCKS, TYPES
from samples.mailjet import SAMPLES
from tests.support.endpoint import Endpoint, meaning, read

MEANINGS = {
    # Mailjet's word for what the recipient's server has accepted.
    "sent": "delivered",
    "open": "opened",
    "click": "clicked",
    "hard bounce": "bounced/hard suppress",
    "soft bounce": "bounced/soft",
    "soft bounce that stopped the address": "bounced/soft suppress",
    "greylisted": "deferred",
    "blocked for the address": "dropped suppress",
    "blocked for the campaign": "dropped",
    "spam": "complained suppress",
    "unsub": "unsubscribed suppress",
    "unsub from a list": "unsubscribed suppress in list:7",
    "unknown": "other",
}


def changed(name: str, **change: Any) -> Event:
    return read("mailjet", {**SAMPLES[name], **change})


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("mailjet")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(changed(name)) == MEANINGS[name]


def test_each_type_of_the_table_has_a_sample() -> None:
    assert TYPES.keys() <= {raw["event"] for raw in SAMPLES.values()}


@pytest.mark.parametrize("error", [*sorted(STOPPING_BLOCKS), "Spam Reporter"])
def test_a_block_that_tells_of_the_address_stops_it(error: str) -> None:
    assert meaning(changed("blocked for the address", error=error)) == "dropped suppress"


@pytest.mark.parametrize("error", ["duplicate in campaign", "content blocked", "spam content", "system issue", None])
def test_a_block_that_tells_of_something_else_stops_nobody(error: str | None) -> None:
    assert meaning(changed("blocked for the address", error=error)) == "dropped"


@pytest.mark.parametrize(
    ("hard", "blocked", "error", "means"),
    [
        (True, False, "user unknown", "bounced/hard suppress"),
        (True, True, "greylisted", "bounced/hard suppress"),
        (False, False, "mailbox inactive", "bounced/soft"),
        (False, True, "mailbox inactive", "bounced/soft suppress"),
        (False, False, "greylisted", "deferred"),
        (False, True, "greylisted", "deferred suppress"),
        (None, None, None, "bounced/soft"),
    ],
)
def test_a_bounce_stops_the_address_if_it_is_hard_or_mailjet_blocks_it(
    hard: Any, blocked: Any, error: Any, means: str
) -> None:
    assert meaning(changed("hard bounce", hard_bounce=hard, blocked=blocked, error=error)) == means


@pytest.mark.parametrize(
    "body", [json.dumps(SAMPLES["click"]), json.dumps([SAMPLES["click"]])], ids=["version 1", "version 2"]
)
def test_one_event_is_an_object_or_an_array(endpoint: Endpoint, body: str) -> None:
    assert endpoint.post_signed(body.encode()).status == 200
    assert endpoint.queued == [SAMPLES["click"]]


def test_a_group_of_several_kinds_is_one_request(endpoint: Endpoint) -> None:
    assert endpoint.post_samples("sent", "open", "hard bounce").body == {"events": 3}


@pytest.mark.parametrize("number", [2**53 + 1, 19421777835146491, 2**63 - 1])
def test_a_number_beyond_a_float_is_exact(endpoint: Endpoint, number: int) -> None:
    endpoint.post_signed(json.dumps({**SAMPLES["sent"], "MessageID": number}).encode())

    (raw,) = endpoint.queued
    assert read("mailjet", raw).message_id == str(number)


@pytest.mark.parametrize("related_to", ["content", "spam", "mailjet", "system"])
def test_a_bounce_for_something_else_than_the_address_blames_the_message(related_to: str) -> None:
    assert meaning(changed("soft bounce", error_related_to=related_to)) == "bounced/soft for the message"
    assert meaning(changed("soft bounce", error_related_to="recipient")) == "bounced/soft"
    assert meaning(changed("sent", error_related_to=related_to)) == "delivered"


def test_the_kind_and_the_reason_keep_mailjets_words() -> None:
    event = changed("hard bounce")

    assert (event.kind, event.reason) == ("bounce/user unknown", "550 5.1.1")
    assert event.occurred_at == datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "change",
    [
        {"MessageID": 19421777835146491},
        {"time": 1767225603},
        {"url": "https://example.com/b"},
        {"ip": "192.0.2.9"},
        {"agent": "Other/1.0"},
        {"email": "bob@example.com"},
    ],
    ids=str,
)
def test_whatever_differs_makes_another_event(change: dict[str, Any]) -> None:
    assert changed("click", **change).event_id != changed("click").event_id


def test_leaving_two_lists_at_once_is_two_events() -> None:
    assert changed("unsub from a list", mj_list_id=8).event_id != changed("unsub from a list").event_id


@pytest.mark.parametrize("gone", ["event", "time"])
def test_an_event_without_what_makes_it_one_is_unparseable(gone: str) -> None:
    with pytest.raises(UnparseableEvent):
        changed("sent", **{gone: None})
