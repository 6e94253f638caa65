"""SparkPost: every row of its tables, batches that only ask, and times in two notations."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.sparkpost import HARD_CLASSES, SOFT_CLASSES, TYPES
from samples.sparkpost import SAMPLES
from tests.support.endpoint import Endpoint, meaning, read

MEANINGS = {
    "injection": "processed",
    "delivery": "delivered",
    "delay": "deferred",
    "policy_rejection": "dropped",
    "generation_rejection": "dropped",
    "generation_failure": "dropped",
    "spam_complaint": "complained suppress",
    "out_of_band": "bounced/unknown",
    "out of band hard": "bounced/hard suppress",
    "open": "opened",
    "amp_open": "opened",
    "initial_open": "opened",
    "amp_initial_open": "opened",
    "click": "clicked",
    "amp_click": "clicked",
    **{f"bounce {code}": "bounced/hard suppress" for code in (10, 30, 90)},
    **{f"bounce {code}": "bounced/soft" for code in (20, 21, 22, 24, 40, 70)},
    **{f"bounce {code}": "bounced/soft for the message" for code in (23, 50, 51, 52, 53, 54)},
    "bounce 25": "dropped",
    "bounce 60": "other",
    "bounce 80": "other",
    "bounce 1": "bounced/unknown",
    "challenge": "other",
    "list_unsubscribe": "unsubscribed suppress",
    "link_unsubscribe": "unsubscribed suppress",
    "unknown": "other",
}


def changed(name: str, **change: Any) -> Event:
    ((group, detail),) = SAMPLES[name].items()
    return read("sparkpost", {group: {key: value for key, value in {**detail, **change}.items() if value is not ...}})


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("sparkpost")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(changed(name)) == MEANINGS[name]


def test_each_row_of_the_tables_has_a_sample() -> None:
    details = [detail for raw in SAMPLES.values() for detail in raw.values()]

    assert TYPES.keys() <= {detail["type"] for detail in details}
    assert {detail.get("bounce_class") for detail in details} >= HARD_CLASSES | SOFT_CLASSES


@pytest.mark.parametrize("kind", ["bounce", "out_of_band"])
@pytest.mark.parametrize(
    ("code", "means"), [(10, "bounced/hard suppress"), ("25", "dropped"), ("999", "bounced/unknown")]
)
def test_a_bounce_after_delivery_is_classed_like_any_other(kind: str, code: Any, means: str) -> None:
    assert meaning(changed("bounce 10", type=kind, bounce_class=code)) == means


@pytest.mark.parametrize(
    ("stamp", "moment"),
    [
        ("1767225602", datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)),
        (1767225602, datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)),
        ("2026-01-01T00:00:02.000+00:00", datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)),
        ("2025-12-31T19:00:02.500-05:00", datetime(2026, 1, 1, 0, 0, 2, 500_000, tzinfo=UTC)),
    ],
)
def test_a_time_comes_in_seconds_or_in_iso_8601(stamp: Any, moment: datetime) -> None:
    assert changed("generation_failure", timestamp=stamp).occurred_at == moment


def test_the_id_is_kept_as_text() -> None:
    assert changed("delivery", event_id="00092356927693813856").event_id == "sparkpost:00092356927693813856"


def test_a_kind_without_an_id_is_kept_as_what_it_says() -> None:
    first, again = changed("unknown", event_id=...), changed("unknown", event_id=...)

    assert first.event_id == again.event_id != changed("unknown", event_id=..., timestamp="1767225603").event_id


def test_the_message_is_the_transmission_that_the_api_returned() -> None:
    assert changed("delivery", message_id="000443ee14578172be22").message_id == "65832150921904138"
    assert changed("delivery", transmission_id=..., message_id="0004").message_id == "0004"


def test_the_recipient_is_lower_case_under_either_name() -> None:
    assert changed("delivery").recipient == "ann@example.com"
    assert changed("delivery", rcpt_to=...).recipient == "ann@example.com"


@pytest.mark.parametrize("body", [b'[{"msys":{}}]', b'[{"msys":{}},{"msys":{}}]', b"[]"], ids=ascii)
def test_a_batch_that_only_asks_is_answered_and_holds_nothing(endpoint: Endpoint, body: bytes) -> None:
    answer = endpoint.post_signed(body)

    assert (answer.status, answer.body, endpoint.sqs.bodies) == (200, {"events": 0}, [])


def test_an_empty_wrapping_among_events_is_passed_over(endpoint: Endpoint) -> None:
    body = json.dumps([{"msys": {}}, {"msys": SAMPLES["open"], "cust": 1}]).encode()

    assert endpoint.post_signed(body).status == 200
    assert endpoint.queued == [SAMPLES["open"]]


def test_what_is_no_event_among_events_is_set_aside_and_not_lost(endpoint: Endpoint) -> None:
    body = json.dumps([{"msys": SAMPLES["open"]}, {"odd": 1}, {"msys": None}]).encode()

    assert endpoint.post_signed(body).status == 200
    assert endpoint.queued == [SAMPLES["open"], {"odd": 1}, {"msys": None}]
    for raw in endpoint.queued[1:]:
        with pytest.raises(UnparseableEvent):
            read("sparkpost", raw)


@pytest.mark.parametrize("body", [b"{}", b'[{"odd":1}]', b'{"msys":[]}', b"5", b"nonsense", b""], ids=ascii)
def test_what_is_no_batch_at_all_is_malformed(endpoint: Endpoint, body: bytes) -> None:
    assert endpoint.post_signed(body).status == 400


@pytest.mark.parametrize("gone", ["type", "timestamp"])
def test_an_event_without_what_makes_it_one_is_unparseable(gone: str) -> None:
    with pytest.raises(UnparseableEvent):
        changed("delivery", **{gone: ...})
