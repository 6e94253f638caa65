"""A sender that only its settings describe: how it signs, where its fields are, and what its words mean."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.base import Origin
from mailfold.providers.generic import PROVIDER
from mailfold.request import Source
from samples.generic import OPTIONS, SAMPLES
from tests.support.endpoint import NOW, Endpoint, meaning, read
from tests.support.origins import RECEIVED_AT

MEANINGS = {
    "mapped bounce": "bounced/hard suppress",
    "mapped delivery": "delivered",
    "mapped complaint": "complained suppress",
    "one of our own words": "opened",
    "without an id": "delivered",
    "unknown": "other",
}

BODY = json.dumps({"id": "1", "type": "delivered"}).encode()


def configured(raw: Any, **options: Any) -> Event:
    source = Source(name="shop", provider="generic", options=options)
    (event,) = PROVIDER.parse(raw, Origin(source=source, received_at=RECEIVED_AT, headers={}))
    return event


def signature_of(secret: str, message: bytes, *, algorithm: str = "sha256", encoding: str = "hex") -> str:
    digest = hmac.digest(secret.encode(), message, algorithm)
    return digest.hex() if encoding == "hex" else base64.b64encode(digest).decode()


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_its_settings_say(name: str) -> None:
    assert meaning(read("generic", SAMPLES[name])) == MEANINGS[name]


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize("encoding", ["hex", "base64"])
@pytest.mark.parametrize("prefix", ["", "sha=", "v1,"])
def test_a_signature_is_read_as_the_settings_say(algorithm: str, encoding: str, prefix: str) -> None:
    options = {"signature_header": "X-Sig", "algorithm": algorithm, "encoding": encoding, "prefix": prefix}
    endpoint = Endpoint("generic", options=options)
    signature = signature_of(endpoint.keys.secret, BODY, algorithm=algorithm, encoding=encoding)

    assert endpoint.post(BODY, {"X-Sig": prefix + signature}).status == 200
    assert endpoint.post(BODY + b" ", {"X-Sig": prefix + signature}).status == 401
    assert endpoint.post(BODY, {"X-Signature": prefix + signature}).status == 401


def test_without_settings_it_is_hex_sha_256_in_x_signature() -> None:
    endpoint = Endpoint("generic", options={})

    assert endpoint.post(BODY, {"X-Signature": signature_of(endpoint.keys.secret, BODY)}).status == 200


@pytest.mark.parametrize("options", [{"algorithm": "md5"}, {"algorithm": "sha1"}, {"encoding": "rot13"}], ids=str)
def test_a_scheme_that_is_too_weak_or_unknown_verifies_nobody(options: dict[str, str]) -> None:
    endpoint = Endpoint("generic", options=options)
    algorithm = options.get("algorithm", "sha256")

    signature = signature_of(endpoint.keys.secret, BODY, algorithm=algorithm)

    assert endpoint.post(BODY, {"X-Signature": signature}).status == 401


@pytest.mark.parametrize(
    ("tolerance", "late_s", "status"),
    [({}, 299, 200), ({}, 301, 401), ({"tolerance_s": 3600}, 3599, 200), ({"tolerance_s": 3600}, 3601, 401)],
    ids=str,
)
def test_a_stamp_is_signed_and_checked_where_the_sender_has_one(
    tolerance: dict[str, int], late_s: int, status: int
) -> None:
    endpoint = Endpoint("generic", options={"timestamp_header": "X-Time", **tolerance})
    stamp = str(int((NOW - timedelta(seconds=late_s)).timestamp()))
    signature = signature_of(endpoint.keys.secret, f"{stamp}.".encode() + BODY)

    assert endpoint.post(BODY, {"X-Time": stamp, "X-Signature": signature}).status == status


def test_a_stamp_is_part_of_what_is_signed() -> None:
    endpoint = Endpoint("generic", options={"timestamp_header": "X-Time"})
    stamp = str(int(NOW.timestamp()))
    signature = signature_of(endpoint.keys.secret, f"{stamp}.".encode() + BODY)

    assert endpoint.post(BODY, {"X-Time": str(int(stamp) + 1), "X-Signature": signature}).status == 401
    assert endpoint.post(BODY, {"X-Signature": signature}).status == 401
    assert endpoint.post(BODY, {"X-Time": stamp, "X-Signature": signature_of(endpoint.keys.secret, BODY)}).status == 401


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("/a", "1"),
        ("/b/c", "2"),
        ("/d/1/e", "4"),
        ("/x~1y", "5"),
        ("/x~0y", "6"),
        ("/", "7"),
        ("/b", None),
        ("/d/9/e", None),
        ("/d/-/e", None),
        ("/d/²/e", None),
        ("/a/deeper", None),
        ("/missing", None),
        ("/flag", None),
        ("/empty", None),
    ],
)
def test_a_pointer_finds_a_text_or_a_number_and_nothing_else(pointer: str, found: str | None) -> None:
    document = {"a": 1, "b": {"c": "2"}, "d": [{}, {"e": 4}], "x/y": 5, "x~y": 6, "": 7, "flag": True, "empty": ""}

    assert configured(document, reason=pointer).reason == found


def test_every_field_has_its_pointer() -> None:
    raw = {"i": 17, "t": "bounced/soft", "w": 1767225605, "r": "Ann <Ann@x>", "m": "m-1", "why": "552", "s": "list:3"}
    pointers = {"id": "/i", "type": "/t", "time": "/w", "recipient": "/r", "message_id": "/m", "reason": "/why"}

    event = configured(raw, scope="/s", **pointers)

    assert event.event_id == "generic:shop:17"
    assert meaning(event) == "bounced/soft in list:3"
    assert event.occurred_at == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert (event.recipient, event.message_id, event.reason) == ("ann@x", "m-1", "552")


@pytest.mark.parametrize(
    ("word", "means"),
    [
        ("delivered", "delivered"),
        ("bounced", "bounced/unknown"),
        ("bounced/soft", "bounced/soft"),
        ("bounced/hard", "bounced/hard suppress"),
        ("bounced/rubber", "other"),
        ("unsubscribed", "unsubscribed suppress"),
        ("resubscribed", "resubscribed lift"),
        ("nonsense", "other"),
        (5, "other"),
    ],
)
def test_a_table_of_types_speaks_our_words(word: Any, means: str) -> None:
    assert meaning(configured({"type": "T"}, types={"T": word})) == means


def test_an_event_without_an_id_is_identified_by_what_it_says_in_any_order_of_its_keys() -> None:
    first = configured({"type": "opened", "to": {"a": 1, "b": 2}})
    again = configured(json.loads('{ "to": {"b": 2, "a": 1},\n "type": "opened" }'))

    assert first.event_id == again.event_id
    assert first.event_id != configured({"type": "opened", "to": {"a": 1, "b": 3}}).event_id


def test_an_event_without_an_id_that_is_nested_too_deep_is_set_aside() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(UnparseableEvent, match="too deep"):
        configured({"type": "opened", "deep": deep})


def test_ids_of_two_senders_may_be_alike() -> None:
    sources = [Source(name=name, provider="generic", options={}) for name in ("shop", "news")]
    origins = [Origin(source=source, received_at=RECEIVED_AT, headers={}) for source in sources]

    assert len({PROVIDER.parse({"id": "1"}, origin)[0].event_id for origin in origins}) == 2


def test_an_event_without_a_time_happened_when_it_arrived() -> None:
    event = configured({"id": "1", "type": "opened"})

    assert (event.occurred_at, event.has_own_time) == (RECEIVED_AT, False)


@pytest.mark.parametrize(
    ("options", "body", "status", "events"),
    [
        ({}, {"id": 1}, 200, [{"id": 1}]),
        ({}, [{"id": 1}, {"id": 2}], 200, [{"id": 1}, {"id": 2}]),
        ({"events": "/a/b"}, {"a": {"b": [{"id": 1}]}}, 200, [{"id": 1}]),
        ({"events": "/a"}, {"a": {"id": 1}}, 200, [{"id": 1}]),
        ({"events": ""}, [{"id": 1}], 200, [{"id": 1}]),
        ({"events": "/a"}, {"b": []}, 400, []),
        ({"events": "/a"}, {"a": [5]}, 400, []),
        ({}, [5], 400, []),
    ],
    ids=str,
)
def test_events_are_cut_where_the_settings_point(options: Any, body: Any, status: int, events: list[Any]) -> None:
    endpoint = Endpoint("generic", options=options)
    text = json.dumps(body).encode()

    answer = endpoint.post(
        text, {"X-Signature": hmac.new(endpoint.keys.secret.encode(), text, hashlib.sha256).hexdigest()}
    )

    assert (answer.status, endpoint.queued) == (status, events)


def test_the_samples_settings_use_every_kind_of_option() -> None:
    assert {"signature_header", "prefix", "algorithm", "timestamp_header", "events", "types"} <= OPTIONS.keys()
