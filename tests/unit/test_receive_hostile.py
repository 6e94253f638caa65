"""The real receive function against bodies and headers nobody should send: never a 5xx, never an exception."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.door import SOURCES, Door

DEEP = 10_000
#: Statuses a verified request may get, by the body it had.
HOSTILE: dict[str, tuple[bytes, set[int]]] = {
    "random bytes": (Random(1).randbytes(4_096), {400}),
    "deep arrays": (b"[" * DEEP + b"]" * DEEP, {400}),
    "deep objects": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, {200, 400}),
    "deep objects that only just parse": (b'{"a":' * 900 + b"1" + b"}" * 900, {200, 400}),
    "unclosed": (b"[" * DEEP, {400}),
    "a number beyond range": (b'[{"timestamp":1e999}]', {400}),
    "a number of many digits": (b'[{"timestamp":' + b"9" * 10_000 + b"}]", {400}),
    "a number of some digits": (b'[{"timestamp":' + b"9" * 4_000 + b"}]", {200}),
    "duplicate keys": (b'[{"event":"open","event":"click","event":"bounce"}]', {200}),
    "NaN": (b'[{"timestamp":NaN}]', {400}),
    "Infinity": (b'[{"timestamp":-Infinity}]', {400}),
    "invalid UTF-8": (b'[{"email":"\xff\xfe@example.com"}]', {400}),
    "overlong UTF-8": (b'[{"email":"\xc0\x80"}]', {400}),
    "UTF-8 with a mark": (b"\xef\xbb\xbf[]", {400}),
    "UTF-16": ('[{"event":"open"}]'.encode("utf-16"), {400}),
    "UTF-32": ('[{"event":"open"}]'.encode("utf-32"), {400}),
    "escaped NUL and lone surrogates": (b'[{"ev\\u0000ent":"\\ud800","email":"\\udfff"}]', {200}),
    "an empty body": (b"", {400}),
    "an empty array": (b"[]", {200}),
    "an empty object": (b"{}", {200}),
    "many empty objects": (b"[" + b"{}," * 50_000 + b"{}]", {200}),
}


def is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


#: What is no text API Gateway hands over in base64 only.
WAYS = [
    (name, encoding)
    for name, (body, _) in HOSTILE.items()
    for encoding in (("base64", "plain") if is_text(body) else ("base64",))
]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("name", "encoding"), WAYS)
def test_a_verified_hostile_body_is_answered_calmly(door: Door, source: str, name: str, encoding: str) -> None:
    body, statuses = HOSTILE[name]

    reply = door.post_signed(source, body, encoding=encoding)

    assert reply.status in statuses
    queued = sum(len(envelope["events"]) for envelope in door.queued())
    assert queued == (reply.body["events"] if reply.status == 200 else 0)


@given(body=st.binary(max_size=512))
def test_any_verified_bytes_are_taken_or_malformed(door: Door, body: bytes) -> None:
    for source in SOURCES:
        assert door.post_signed(source, body).status in {200, 400}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(value=JSON)
def test_any_verified_json_is_queued_as_it_is_or_malformed(door: Door, value: object) -> None:
    body = json.dumps(value).encode()

    reply = door.post_signed("sendgrid", body)

    events = value if isinstance(value, list) else [value]
    queued = [event for envelope in door.queued() for event in envelope["events"]]
    if all(isinstance(event, dict) for event in events):
        assert (reply.status, queued) == (200, events)
    else:
        assert (reply.status, queued) == (400, [])


@given(
    body=st.binary(max_size=64),
    values=st.lists(st.text(max_size=40), min_size=2, max_size=2),
    method=st.sampled_from(["POST", "GET", "PATCH"]),
    source=st.sampled_from([*SOURCES, "nobody", "", "../secret", "\x00"]),
)
def test_nothing_unverified_is_ever_queued(
    door: Door, body: bytes, values: list[str], method: str, source: str
) -> None:
    names = ["X-Twilio-Email-Event-Webhook-Timestamp", "X-Twilio-Email-Event-Webhook-Signature"]
    names += ["X-SESMetric-Timestamp", "X-SESMetric-Signature"]
    headers = dict(zip(names, values * 2, strict=True))

    reply = door.post(source, body, headers, method=method)

    assert reply.status in {401, 404, 405}
    assert door.queued() == []
