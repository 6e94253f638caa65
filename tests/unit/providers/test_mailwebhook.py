"""MailWebhook: a signature in parts, and a key that is the same on every attempt."""

import json
from typing import Any

import pytest

from mailfold.events import Event
from mailfold.providers.mailwebhook import KEY_HEADERS
from samples.mailwebhook import SAMPLES, body
from tests.support.endpoint import NOW, Endpoint, meaning, read

MEANINGS = {"mapped": "bounced/hard stop", "reply": "other", "unknown": "other", "without a type": "other"}

SIGNATURE = "X-MailWebhook-Signature"
BODY = body([SAMPLES["mapped"]])


def keyed(name: str, **headers: str) -> Event:
    return read("mailwebhook", SAMPLES[name], headers={key.replace("_", "-"): value for key, value in headers.items()})


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("mailwebhook")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_its_settings_say(name: str) -> None:
    assert meaning(keyed(name, x_idempotency_key="k")) == MEANINGS[name]


def test_the_key_is_the_id_under_either_of_its_names() -> None:
    ids = {keyed("mapped", x_idempotency_key="k").event_id, keyed("mapped", idempotency_key="k").event_id}

    assert ids == {"mailwebhook:main:k"}
    assert keyed("mapped", x_idempotency_key="k2").event_id not in ids


@pytest.mark.parametrize("header", KEY_HEADERS)
def test_the_key_travels_with_the_event_and_names_its_claim(endpoint: Endpoint, header: str) -> None:
    _, headers = endpoint.sign(BODY)
    headers[header] = headers.pop("X-Idempotency-Key")

    assert endpoint.post(BODY, headers).status == 200
    (envelope,) = endpoint.envelopes
    assert envelope["headers"] == {header: headers[header]}
    assert headers[header] in envelope["claim_key"]


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
def test_the_events_of_one_request_share_its_key_and_are_still_two(options: dict[str, Any]) -> None:
    endpoint = Endpoint("mailwebhook", options=options)

    assert endpoint.post_signed(json.dumps([{"type": "opened", "n": n} for n in (1, 2)]).encode()).status == 200
    assert len({endpoint.read(raw).event_id for raw in endpoint.queued}) == 2


def test_several_events_where_no_settings_announce_them_are_malformed(endpoint: Endpoint) -> None:
    assert endpoint.post_signed(b'[{"type":"opened"},{"type":"clicked"}]').status == 400
