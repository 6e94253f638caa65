"""Unisender Go: every row of its tables, and a digest that stands where the API key stood."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.unisender import MESSAGE_FAULTS, NEVER_SENT, RETRYING, TYPES
from samples.unisender import SAMPLES
from tests.support.endpoint import Endpoint, meaning, read

MEANINGS = {
    "sent": "processed",
    "delivered": "delivered",
    "opened": "opened",
    "clicked": "clicked",
    "unsubscribed": "unsubscribed suppress",
    "subscribed": "resubscribed lift",
    "spam": "complained suppress",
    "soft_bounced": "bounced/soft",
    "hard_bounced": "bounced/hard suppress",
    "still tried": "deferred",
    "full mailbox": "bounced/soft",
    "no such user": "bounced/hard suppress",
    "taken for spam": "bounced/soft for the message",
    "had unsubscribed": "dropped suppress",
    "unknown": "other",
}


def about(name: str, **change: Any) -> Event:
    raw = SAMPLES[name]
    return read("unisender", {**raw, "event_data": {**raw["event_data"], **change}})


def keyed(body: str, secret: str) -> bytes:
    """Return the body as it is sent; `AUTH` marks the place of the digest."""
    return body.replace("AUTH", hashlib.md5(body.replace("AUTH", secret).encode()).hexdigest()).encode()


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("unisender")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(about(name)) == MEANINGS[name]


def test_each_type_of_the_table_has_a_sample() -> None:
    assert TYPES.keys() <= {raw["event_data"].get("status") for raw in SAMPLES.values()}


@pytest.mark.parametrize(
    ("statuses", "means"),
    [(RETRYING, "deferred"), (NEVER_SENT, "dropped suppress"), (MESSAGE_FAULTS, "bounced/soft for the message")],
    ids=["retrying", "never sent", "the message's fault"],
)
def test_the_delivery_status_says_what_a_hard_bounce_is_worth(statuses: set[str], means: str) -> None:
    for status in statuses:
        assert meaning(about("hard_bounced", delivery_info={"delivery_status": status})) == means


@pytest.mark.parametrize(
    "change",
    [
        {"job_id": "another"},
        {"event_time": "2026-01-01 00:00:06"},
        {"url": "https://example.com/b"},
        {"email": "bob@example.com"},
        {"delivery_info": {"ip": "192.0.2.9"}},
    ],
    ids=str,
)
def test_whatever_differs_makes_another_event(change: dict[str, Any]) -> None:
    assert about("clicked", **change).event_id != about("clicked").event_id


def test_the_fields_are_read() -> None:
    event = about("no such user")

    assert event.occurred_at == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert (event.message_id, event.recipient) == ("1a3Q2V-0000OZ-S0", "ann@example.com")
    assert (event.kind, event.reason) == ("hard_bounced/err_user_unknown", "550 5.1.1")


def test_a_status_nobody_knows_is_other() -> None:
    assert meaning(about("sent", status="pondered")) == "other"


@pytest.mark.parametrize("stamp", ["event_time", "block_time"])
def test_what_is_not_about_a_mail_has_its_time_under_two_names_or_none(stamp: str) -> None:
    raw = {"event_name": "transactional_spam_block", "event_data": {stamp: "2026-01-01 00:00:05"}}
    undated = read("unisender", {**raw, "event_data": {}})

    assert read("unisender", raw).occurred_at == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert read("unisender", raw).has_own_time
    assert not undated.has_own_time


@pytest.mark.parametrize("gone", ["status", "event_time"])
def test_an_event_without_what_makes_it_one_is_unparseable(gone: str) -> None:
    with pytest.raises(UnparseableEvent):
        about("clicked", **{gone: None})


def test_the_events_of_all_users_are_taken(endpoint: Endpoint) -> None:
    users = [
        {"user_id": 1, "events": [SAMPLES["sent"]]},
        {"user_id": 2, "events": [SAMPLES["spam"], SAMPLES["opened"]]},
    ]
    body = json.dumps({"auth": "AUTH", "events_by_user": users})

    assert endpoint.post(keyed(body, endpoint.keys.secret), {}).body == {"events": 3}
    assert endpoint.queued == [SAMPLES["sent"], SAMPLES["spam"], SAMPLES["opened"]]


def test_a_callback_in_the_single_event_format_is_its_own_event(endpoint: Endpoint) -> None:
    flat = {"email": "Ann@Example.com", "status": "delivered", "job_id": "j", "event_time": "2026-01-01 00:00:05"}

    assert endpoint.post(keyed(json.dumps({"auth": "AUTH", **flat}), endpoint.keys.secret), {}).status == 200
    assert endpoint.queued == [flat]
    assert meaning(read("unisender", flat)) == "delivered"


@pytest.mark.parametrize(
    "users",
    [{}, [5], [{}], [{"events": {}}], [{"events": [5]}], [{"events": [SAMPLES["sent"]]}, None]],
    ids=lambda users: str(users)[:30],
)
def test_a_genuine_body_of_another_shape_is_malformed_and_nothing_of_it_is_lost(endpoint: Endpoint, users: Any) -> None:
    body = keyed(json.dumps({"auth": "AUTH", "events_by_user": users}), endpoint.keys.secret)

    assert (endpoint.post(body, {}).status, endpoint.sqs.bodies) == (400, [])


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"auth":null}', '{"auth":""}', '{"auth":"\\u0041UTH"}', '"AUTH"'])
def test_without_a_digest_nobody_is_verified(endpoint: Endpoint, body: str) -> None:
    assert endpoint.post(keyed(body, endpoint.keys.secret), {}).status == 401


def test_a_digest_that_stands_in_two_places_is_refused(endpoint: Endpoint) -> None:
    body = json.dumps({"auth": "AUTH", "again": "AUTH", "events_by_user": []})

    assert endpoint.post(keyed(body, endpoint.keys.secret), {}).status == 401


def test_the_call_that_checks_the_url_is_answered(endpoint: Endpoint) -> None:
    answer = endpoint.post(b"", {}, method="GET")

    assert (answer.status, endpoint.sqs.bodies) == (200, [])
