"""The real receive function: what each kind of request is answered, and what it leaves on the queue."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailfold.secrets import REREAD_AFTER_S
from samples import sampler
from tests.support.door import MAX_BODY_BYTES, SOURCES, Door

#: Further away than any provider's tolerance.
FAR = timedelta(hours=30)
SAMPLE = {"sendgrid": "delivered", "shop": "delivery"}
SIGNED_HEADERS = {
    "sendgrid": ("X-Twilio-Email-Event-Webhook-Timestamp", "X-Twilio-Email-Event-Webhook-Signature"),
    "shop": ("X-SESMetric-Timestamp", "X-SESMetric-Signature"),
}
EVERY_HEADER = [(source, header) for source, headers in SIGNED_HEADERS.items() for header in headers]


@pytest.fixture(params=["base64", "plain"])
def encoding(request: pytest.FixtureRequest) -> str:
    """The two ways in which API Gateway hands over a body."""
    return str(request.param)


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> str:
    """A source of each way to sign."""
    return str(request.param)


def metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    blobs = [line for line in lines if "_aws" in line]
    return {
        metric["Name"]: blob[metric["Name"]][0]
        for blob in blobs
        for metric in blob["_aws"]["CloudWatchMetrics"][0]["Metrics"]
    }


def test_a_genuine_request_is_200_and_really_on_the_queue(
    door: Door, source: str, encoding: str, capsys: pytest.CaptureFixture[str]
) -> None:
    body = door.body(source, SAMPLE[source])

    reply = door.post_signed(source, body, encoding=encoding)

    assert (reply.status, reply.body) == (200, {"events": 1})
    [envelope] = door.queued()
    assert (envelope["source"], envelope["provider"]) == (source, SOURCES[source])
    assert envelope["events"] == [sampler(SOURCES[source]).SAMPLES[SAMPLE[source]]]
    assert metrics(capsys) == {"RequestsAccepted": 1, "EventsReceived": 1}


def test_a_request_of_many_events_is_queued_whole_in_several_envelopes(door: Door, encoding: str) -> None:
    events = [{"event": "delivered", "n": n, "pad": "é" * 300} for n in range(300)]
    body = json.dumps(events, ensure_ascii=False).encode()

    reply = door.post_signed("sendgrid", body, encoding=encoding)

    queued = door.queued()
    assert (reply.status, reply.body) == (200, {"events": 300})
    assert len(queued) > 1
    assert sorted((event for one in queued for event in one["events"]), key=lambda event: event["n"]) == events


def test_a_retry_brings_the_same_claims(door: Door, source: str, encoding: str) -> None:
    body = door.body(source, SAMPLE[source])
    door.post_signed(source, body, encoding=encoding)
    [first] = door.queued()

    door.post_signed(source, body, encoding=encoding)

    [again] = door.queued()
    assert (first["claim_key"], first["request_hash"]) == (again["claim_key"], again["request_hash"])


def test_an_unknown_source_is_404(door: Door, source: str, encoding: str) -> None:
    body = door.body(source, SAMPLE[source])

    reply = door.post("nobody", body, door.sign(source, body), encoding=encoding)

    assert reply.status == 404
    assert door.queued() == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_another_method_is_405(door: Door, source: str, encoding: str, method: str) -> None:
    body = door.body(source, SAMPLE[source])

    reply = door.post(source, body, door.sign(source, body), encoding=encoding, method=method)

    assert reply.status == 405
    assert door.queued() == []


def test_a_body_over_the_limit_is_413_and_one_at_the_limit_is_read(door: Door, source: str, encoding: str) -> None:
    over, at_limit = b" " * (MAX_BODY_BYTES + 1), b" " * MAX_BODY_BYTES

    refused = door.post_signed(source, over, encoding=encoding)
    read = door.post_signed(source, at_limit, encoding=encoding)

    assert (refused.status, read.status) == (413, 400)
    assert door.queued() == []


def test_an_event_that_the_queue_cannot_carry_is_413(door: Door, source: str, encoding: str) -> None:
    body = json.dumps({"id": "evt_1", "pad": "x" * 1_000_000}).encode()

    reply = door.post_signed(source, body, encoding=encoding)

    assert reply.status == 413
    assert door.queued() == []


@pytest.mark.parametrize(("source", "header"), EVERY_HEADER)
@pytest.mark.parametrize("value", [None, "", "é", "zz", "1", "=" * 100, "\ud800"], ids=ascii)
def test_a_missing_or_malformed_header_is_401(
    door: Door, source: str, encoding: str, header: str, value: str | None
) -> None:
    body = door.body(source, SAMPLE[source])
    headers = {name: text for name, text in door.sign(source, body).items() if name != header}

    reply = door.post(source, body, headers if value is None else {**headers, header: value}, encoding=encoding)

    assert (reply.status, reply.body) == (401, {"error": "not verified"})
    assert door.queued() == []


def test_the_signature_of_another_key_is_401(
    door: Door, source: str, encoding: str, capsys: pytest.CaptureFixture[str]
) -> None:
    body = door.body(source, SAMPLE[source])
    stranger = sampler(SOURCES[source]).make_keys()

    reply = door.post(source, body, door.sign(source, body, keys=stranger), encoding=encoding)

    assert reply.status == 401
    assert door.queued() == []
    assert metrics(capsys) == {"RequestsRefused": 1, "VerificationFailed": 1}


def test_the_signature_of_another_source_is_401(door: Door, encoding: str) -> None:
    body = door.body("shop", "delivery")

    reply = door.post("shop", body, door.sign("sendgrid", body), encoding=encoding)

    assert reply.status == 401
    assert door.queued() == []


@pytest.mark.parametrize("skew", [-FAR, FAR], ids=["stale", "future"])
def test_a_stamp_beyond_the_tolerance_is_401(door: Door, source: str, encoding: str, skew: timedelta) -> None:
    body = door.body(source, SAMPLE[source])

    reply = door.post(source, body, door.sign(source, body, at=datetime.now(UTC) + skew), encoding=encoding)

    assert reply.status == 401
    assert door.queued() == []


def test_a_newer_stamp_on_an_old_signature_is_401(door: Door, source: str, encoding: str) -> None:
    body = door.body(source, SAMPLE[source])
    old = door.sign(source, body, at=datetime.now(UTC) - FAR)
    stamp = SIGNED_HEADERS[source][0]

    reply = door.post(source, body, {**old, stamp: door.sign(source, body)[stamp]}, encoding=encoding)

    assert reply.status == 401
    assert door.queued() == []


@pytest.mark.parametrize("position", [0, 20, -1])
def test_a_tampered_byte_is_401(door: Door, source: str, encoding: str, position: int) -> None:
    body = door.body(source, SAMPLE[source])
    tampered = bytearray(body)
    tampered[position] ^= 1

    reply = door.post(source, bytes(tampered), door.sign(source, body), encoding=encoding)

    assert reply.status == 401
    assert door.queued() == []


@pytest.mark.parametrize("body", [b"hello", b"{", b"\xc3\xa9", b""], ids=ascii)
def test_a_verified_body_that_is_not_json_is_400(door: Door, source: str, encoding: str, body: bytes) -> None:
    assert door.post_signed(source, body, encoding=encoding).status == 400
    assert door.queued() == []


@pytest.mark.parametrize("body", [b"5", b"null", b'"a"', b"[1]", b"[[]]", b"[{},null]"], ids=ascii)
def test_verified_json_of_the_wrong_shape_is_400(door: Door, source: str, encoding: str, body: bytes) -> None:
    assert door.post_signed(source, body, encoding=encoding).status == 400
    assert door.queued() == []


def test_a_queue_that_does_not_answer_is_503_and_nothing_is_acknowledged(
    door: Door, source: str, encoding: str, capsys: pytest.CaptureFixture[str]
) -> None:
    door.lose_queue()

    reply = door.post_signed(source, door.body(source, SAMPLE[source]), encoding=encoding)

    assert (reply.status, reply.body) == (503, {"error": "cannot accept now, send again"})
    assert metrics(capsys) == {"RequestsDeferred": 1}


@pytest.mark.parametrize(
    "secret",
    [None, "not json", "[]", "{}", '{"other":["x"]}', '{"sendgrid":[],"shop":[]}', '{"sendgrid":"x","shop":"x"}'],
    ids=["missing", "not json", "no object", "empty", "source absent", "no secrets", "no list"],
)
def test_a_secret_nobody_can_be_verified_with_is_503_and_never_401(
    door: Door, source: str, encoding: str, secret: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    door.set_secret(secret)
    body = door.body(source, SAMPLE[source])

    genuine = door.post_signed(source, body, encoding=encoding)
    forged = door.post(source, body, {}, encoding=encoding)

    assert (genuine.status, forged.status) == (503, 503)
    assert door.queued() == []
    assert metrics(capsys) == {"RequestsDeferred": 1, "SecretUnavailable": 1}


def test_a_secret_that_may_not_be_read_is_503(
    door: Door, source: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(**_: Any) -> None:
        raise PermissionError("AccessDenied")

    monkeypatch.setattr(door.handler.receive_context.secrets._client, "get_secret_value", denied)

    assert door.post_signed(source, door.body(source, SAMPLE[source]), encoding=encoding).status == 503
    assert door.queued() == []


def test_a_secret_rotated_after_the_start_is_found_when_a_signature_fails(
    door: Door, source: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = door.body(source, SAMPLE[source])
    rotated = sampler(SOURCES[source]).make_keys()
    door.post_signed(source, body, encoding=encoding)
    door.set_secret(json.dumps({source: [rotated.secret, door.keys[source].secret]}))
    monkeypatch.setattr(door.handler.receive_context.secrets, "_clock", lambda: time.monotonic() + REREAD_AFTER_S + 1)

    renewed = door.post(source, body, door.sign(source, body, keys=rotated), encoding=encoding)
    overlapping = door.post_signed(source, body, encoding=encoding)

    assert (renewed.status, overlapping.status) == (200, 200)
    assert len(door.queued()) == 3
