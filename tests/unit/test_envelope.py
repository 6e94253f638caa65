"""Envelopes: the same bytes give the same claims, and none is too large for the queue."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.testing.proofs import NOW, verified_request
from mailfold.envelope import LARGEST_BYTES, TARGET_BYTES, VERSION, Envelope, SealedEnvelope, parse_record, seal
from mailfold.errors import NotAnEnvelope, TooLarge
from mailfold.request import Source

#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
SQS_BYTES = 1024 * 1024
HEAD_BYTES = 1_000


def sealed(events: list[Any], *, at: datetime = NOW, **more: Any) -> list[SealedEnvelope]:
    body = json.dumps(events).encode()
    return seal(verified_request(body, at=at), events, headers={}, **more)


def opened(envelope: SealedEnvelope) -> Envelope:
    return Envelope.loads(parse_record(envelope.text))


def events_of(size: int, count: int) -> list[dict[str, Any]]:
    return [{"n": n, "pad": "x" * size} for n in range(count)]


def test_an_envelope_reads_back_as_it_was_sealed() -> None:
    events = [{"id": "evt_1", "name": "Zoë \ud800 \x00"}, {"id": "evt_2"}]

    [envelope] = [opened(one) for one in sealed(events)]

    assert envelope.events == events
    assert (envelope.source, envelope.provider, envelope.received_at) == ("main", "sesmetric", NOW)


def test_a_retry_of_the_same_bytes_yields_the_same_claims() -> None:
    events = events_of(20_000, 10)

    first = [opened(one) for one in sealed(events)]
    again = [opened(one) for one in sealed(events, at=NOW + timedelta(hours=1))]

    assert len(first) > 1
    assert [one.claim_key for one in first] == [one.claim_key for one in again]
    assert [one.request_hash for one in first] == [one.request_hash for one in again]
    assert len({one.claim_key for one in first}) == len(first)


def test_claims_stay_the_same_from_release_to_release() -> None:
    events = [{"n": n, "name": "Zoë 😀", "at": 1767225602.25, "big": 19421777835146490, "pad": None} for n in range(3)]

    [envelope] = [opened(one) for one in sealed(events)]

    # A retry may meet a newer release than the first attempt did: other words here would make it a collision.
    assert envelope.claim_key == "main:334528887c0968bae66356ba4f3eb790:0"
    assert envelope.request_hash == "194b9d8d1c7fd11b1180394f553cb528"


def test_another_body_or_another_source_yields_other_claims() -> None:
    body = b'[{"id":"evt_1"}]'
    events = [{"id": "evt_1"}]

    here = seal(verified_request(body), events, headers={})
    elsewhere = seal(verified_request(body, source=Source(name="second", provider="sesmetric")), events, headers={})
    other = seal(verified_request(body + b" "), events, headers={})

    assert len({here[0].claim_key, elsewhere[0].claim_key, other[0].claim_key}) == 3


def test_a_key_of_the_provider_takes_the_place_of_the_bytes() -> None:
    first = sealed([{"id": "evt_1"}], key="abc")
    other_payload = sealed([{"id": "evt_2"}], key="abc")

    assert first[0].claim_key == other_payload[0].claim_key
    assert opened(first[0]).request_hash != opened(other_payload[0]).request_hash


def test_the_received_time_travels_in_utc() -> None:
    at = NOW.astimezone(tz=None) if NOW.astimezone().utcoffset() else NOW

    [envelope] = sealed([{"id": "evt_1"}], at=at)

    assert json.loads(envelope.text)["received_at"] == NOW.isoformat()
    assert opened(envelope).received_at.utcoffset() == UTC.utcoffset(None)


def test_a_large_request_is_cut_near_the_target() -> None:
    events = events_of(997, 1_000)

    envelopes = sealed(events)

    assert [event for one in envelopes for event in opened(one).events] == events
    assert all(len(one.text) <= TARGET_BYTES + HEAD_BYTES for one in envelopes)
    assert all(len(one.text) > TARGET_BYTES - 2_000 for one in envelopes[:-1])


@given(st.lists(st.integers(0, 70_000), max_size=12), st.sampled_from("xé😀"))
def test_whatever_is_cut_stays_whole_ascii_and_within_the_limit(sizes: list[int], dead_letter: str) -> None:
    events = [{"pad": dead_letter * (size // len(json.dumps(dead_letter)))} for size in sizes]

    envelopes = sealed(events)

    assert [event for one in envelopes for event in opened(one).events] == events
    assert all(one.text.isascii() and len(one.text) <= LARGEST_BYTES for one in envelopes)


def test_an_event_larger_than_the_target_stands_alone() -> None:
    envelopes = sealed([{"n": 1}, {"pad": "x" * (TARGET_BYTES + 1)}, {"n": 2}])

    assert [len(opened(one).events) for one in envelopes] == [1, 1, 1]


def test_the_largest_event_fits_the_queue_and_one_byte_more_is_too_large() -> None:
    frame = len('{"pad":""}')

    [largest] = sealed([{"pad": "x" * (LARGEST_BYTES - frame)}])

    assert len(largest.text) < SQS_BYTES
    with pytest.raises(TooLarge):
        sealed([{"n": 1}, {"pad": "x" * (LARGEST_BYTES - frame + 1)}])


def test_the_limit_counts_what_is_sent_not_what_was_received() -> None:
    escaped_six_times_as_long = "é" * (LARGEST_BYTES // 6)

    with pytest.raises(TooLarge):
        sealed([{"pad": escaped_six_times_as_long}])


def test_no_events_make_no_envelope() -> None:
    assert sealed([]) == []


GOOD = {
    "mailfold": VERSION,
    "source": "main",
    "provider": "sesmetric",
    "claim_key": "main:1",
    "request_hash": "h",
    "received_at": "2026-01-01T00:00:00+00:00",
    "headers": {},
    "events": [],
}


@pytest.mark.parametrize(
    "change",
    [
        {"mailfold": 2},
        {"mailfold": "1"},
        {"received_at": "yesterday"},
        {"received_at": 5},
        {"headers": 5},
        {"events": 5},
    ]
    + [{name: ...} for name in GOOD],
    ids=str,
)
def test_a_record_that_only_resembles_an_envelope_is_none(change: dict[str, Any]) -> None:
    body = {name: value for name, value in {**GOOD, **change}.items() if value is not ...}

    with pytest.raises(NotAnEnvelope):
        Envelope.loads(body)


@pytest.mark.parametrize(
    "text", ["", "hello", "[]", "5", "null", "[" * 100_000, '{"a":NaN}'], ids=lambda text: text[:9]
)
def test_a_record_that_is_no_json_object_is_not_an_envelope(text: str) -> None:
    with pytest.raises(NotAnEnvelope):
        parse_record(text)
