"""MailWebhook: a signature in parts, and a key that is the same on every attempt."""

import json
from datetime import timedelta
from typing import Any

import pytest

from mailfold.events import Event
from mailfold.providers.mailwebhook import KEY_HEADERS
from samples import mailwebhook as sampler
from samples.mailwebhook import SAMPLES
from tests.support.endpoint import NOW, Endpoint, meaning, read

MEANINGS = {"mapped": "bounced/hard suppress", "reply": "other", "unknown": "other", "without a type": "other"}

SIGNATURE = "X-MailWebhook-Signature"
BODY = sampler.body([SAMPLES["mapped"]])


def keyed(name: str, **headers: str) -> Event:
    return read("mailwebhook", SAMPLES[name], headers={key.replace("_", "-"): value for key, value in headers.items()})


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("mailwebhook")


def events_of(endpoint: Endpoint) -> list[Event]:
    """What process makes of each envelope, with what travels in it."""
    return [
        read("mailwebhook", raw, headers=envelope["headers"])
        for envelope in endpoint.envelopes
        for raw in envelope["events"]
    ]


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_its_settings_say(name: str) -> None:
    assert meaning(keyed(name, x_idempotency_key="k")) == MEANINGS[name]


def test_the_id_is_made_of_the_signed_body_and_never_of_the_key() -> None:
    ids = {keyed("mapped", x_idempotency_key=key).event_id for key in ("k", "k2")}
    ids |= {keyed("mapped", idempotency_key="k").event_id, keyed("mapped").event_id}

    assert len(ids) == 1
    assert keyed("reply", x_idempotency_key="k").event_id not in ids


def test_an_id_in_the_body_is_the_events_id() -> None:
    named = {"id": "/mail/id", **sampler.OPTIONS}
    endpoint = Endpoint("mailwebhook", options=named)

    for text in ("one", "another"):
        endpoint.post_signed(json.dumps({**SAMPLES["mapped"], "mail": {"id": "m-17"}, "text": text}).encode())

    assert {endpoint.read(raw).event_id for raw in endpoint.queued} == {"mailwebhook:main:m-17"}


def test_one_signed_body_under_many_keys_is_one_event(endpoint: Endpoint) -> None:
    _, headers = endpoint.sign(BODY)

    for number in range(6):
        assert endpoint.post(BODY, {**headers, "X-Idempotency-Key": f"key-{number}"}).status == 200

    events = events_of(endpoint)
    assert len({envelope["claim_key"] for envelope in endpoint.envelopes}) == 6
    assert len({(event.event_id, event.fingerprint, event.occurred_at) for event in events}) == 1


def test_a_retry_has_a_new_stamp_and_the_same_claim_and_event(endpoint: Endpoint) -> None:
    for minutes in (0, 2, 12, 3 * 24 * 60):
        later = NOW + timedelta(minutes=minutes)
        assert endpoint.post_signed(BODY, at=later, received_at=later).status == 200

    events = events_of(endpoint)
    assert len({(one["claim_key"], one["request_hash"]) for one in endpoint.envelopes}) == 1
    assert len({(event.event_id, event.fingerprint, event.occurred_at) for event in events}) == 1


def test_the_same_key_with_another_body_is_another_content_of_the_same_claim(endpoint: Endpoint) -> None:
    for body in (BODY, sampler.body([SAMPLES["reply"]])):
        signed, headers = endpoint.sign(body)
        assert endpoint.post(signed, {**headers, "X-Idempotency-Key": "k"}).status == 200

    first, second = endpoint.envelopes
    assert first["claim_key"] == second["claim_key"]
    assert first["request_hash"] != second["request_hash"]


@pytest.mark.parametrize("header", KEY_HEADERS)
def test_the_key_names_the_claim_and_does_not_travel_with_the_event(endpoint: Endpoint, header: str) -> None:
    _, headers = endpoint.sign(BODY)
    headers[header] = headers.pop("X-Idempotency-Key")

    assert endpoint.post(BODY, headers).status == 200
    (envelope,) = endpoint.envelopes
    assert envelope["headers"] == {}
    assert headers[header] in envelope["claim_key"]


@pytest.mark.parametrize(("parts", "status"), [(7, 200), (8, 401), (1000, 401)])
def test_a_signature_of_more_parts_than_there_are_names_for_is_refused(
    endpoint: Endpoint, parts: int, status: int
) -> None:
    _, headers = endpoint.sign(BODY)
    longer = headers[SIGNATURE] + ",a=b" * parts

    assert endpoint.post(BODY, {**headers, SIGNATURE: longer}).status == status


@pytest.mark.parametrize(
    "shape", ["t={t},v1={v1}", "v1={v1}, t={t}", "kid=k2, t={t} , v1={v1} ", "t={t},v1={v1},v2=later,odd"]
)
def test_the_parts_of_the_signature_come_in_any_order(endpoint: Endpoint, shape: str) -> None:
    _, headers = endpoint.sign(BODY)
    parts = dict(part.strip().split("=", 1) for part in headers[SIGNATURE].split(","))

    assert endpoint.post(BODY, {**headers, SIGNATURE: shape.format(**parts)}).status == 200


@pytest.mark.parametrize("shape", ["t={t}", "v1={v1}", "t=,v1={v1}", "t={t},v1=", "t={t};v1={v1}", "{t},{v1}"])
def test_a_signature_that_lacks_a_part_is_refused(endpoint: Endpoint, shape: str) -> None:
    _, headers = endpoint.sign(BODY)
    parts = dict(part.strip().split("=", 1) for part in headers[SIGNATURE].split(","))

    assert endpoint.post(BODY, {**headers, SIGNATURE: shape.format(**parts)}).status == 401


def test_the_stamp_is_signed(endpoint: Endpoint) -> None:
    _, headers = endpoint.sign(BODY)
    stamp = str(int(NOW.timestamp()))
    moved = headers[SIGNATURE].replace(stamp, str(int(stamp) + 1))

    assert endpoint.post(BODY, {**headers, SIGNATURE: moved}).status == 401


@pytest.mark.parametrize("value", [None, "", "k" * 256], ids=["none", "empty", "too long"])
def test_without_a_usable_key_a_genuine_request_is_400(endpoint: Endpoint, value: str | None) -> None:
    _, headers = endpoint.sign(BODY)
    del headers["X-Idempotency-Key"]

    answer = endpoint.post(BODY, {**headers, "X-Idempotency-Key": value} if value is not None else headers)

    assert (answer.status, endpoint.sqs.bodies) == (400, [])


@pytest.mark.parametrize("options", [{"events": ""}, {"events": "", "id": "/n"}], ids=str)
def test_the_events_of_one_request_are_still_two(options: dict[str, Any]) -> None:
    endpoint = Endpoint("mailwebhook", options=options)

    assert endpoint.post_signed(json.dumps([{"type": "opened", "n": n} for n in (1, 2)]).encode()).status == 200
    assert len({endpoint.read(raw).event_id for raw in endpoint.queued}) == 2


def test_several_events_where_no_settings_announce_them_are_malformed(endpoint: Endpoint) -> None:
    assert endpoint.post_signed(b'[{"type":"opened"},{"type":"clicked"}]').status == 400
