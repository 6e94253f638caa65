"""Whatever is sent to whichever provider: the door refuses it or takes it, and parse reads it or sets it aside.

Every run tries the same few examples. `MAILFOLD_FUZZ_SECONDS=60` tries ever new ones, that long for each test.
"""

import contextlib
import copy
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from random import SystemRandom
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from mailfold.errors import MalformedPayload, NotAnEnvelope, UnparseableEvent, VerificationError
from mailfold.jsontext import dumps, may_be_unstorable, storable_raw
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.request import Request, Source
from samples import Keys, sampler, signed

SECONDS = float(os.environ.get("MAILFOLD_FUZZ_SECONDS", "0"))
EXAMPLES = 40
NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)

pytestmark = pytest.mark.timeout(SECONDS + 300)
every = pytest.mark.parametrize("name", sorted(REGISTRY))

#: Surrogates included: no provider sends them, but JSON can.
TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
ODD = st.sampled_from(
    [
        *(
            "",
            " ",
            "\x00",
            "\ud800",
            "²",
            "٣",
            "-",
            ".",
            "1e999",
            "0x10",
            "9" * 400,
            "null",
            "[]",
            "{}",
            "%ff",
            "=",
            ",",
        ),
        *("2026-01-01", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "24:00"),
        *(
            "ann@example.com",
            "<>",
            "<<a>>",
            "A <b@c> <d@e>",
            "@",
            ",@,",
            "5.1.1",
            "5.1.1.1",
            "bounced/hard",
            "v1,",
            "t=",
        ),
        *(0, -1, 1.5, -0.0, 1e308, 10**11, 10**40, -(10**40), True, False, None),
    ]
)
JSON = st.recursive(
    ODD | TEXT | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
DEEP = st.builds(
    lambda depth, shape: shape.replace(b"*", b"[" * depth + b"]" * depth),
    st.sampled_from([100, 400, 900, 5_000, 200_000]),
    st.sampled_from([b"*", b'{"type":"a","event":"a","created_at":"2026-01-01","deep":*}', b'[{"deep":*}]']),
)


@cache
def keys_of(name: str) -> Keys:
    return sampler(name).make_keys()


@cache
def source_of(name: str) -> Source:
    return Source(name="main", provider=name, options=sampler(name).OPTIONS)


@cache
def honest_headers(name: str) -> dict[str, str]:
    body = sampler(name).body([dict(next(iter(sampler(name).SAMPLES.values())))])
    return signed(sampler(name), body, keys_of(name), NOW)[1]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def warped(draw: st.DrawFn, document: Any, *, least: int = 0) -> Any:
    """Make some things in a document something else, call them by another name, or take them away."""
    for _ in range(draw(st.integers(least, 3))):
        paths = list(places(document))
        if not paths:
            break
        *way, last = draw(st.sampled_from(paths))
        inside: Any = document
        for key in way:
            inside = inside[key]
        change = draw(st.sampled_from(["replace", "replace", "rename", "remove"]))
        if change == "replace" or isinstance(inside, list):
            inside[last] = draw(JSON)
        elif change == "rename":
            inside[draw(TEXT)] = inside.pop(last)
        else:
            del inside[last]
    return document


@st.composite
def raws(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """A sample in which some things are not what they should be."""
    sample = draw(st.sampled_from(list(sampler(name).SAMPLES.values())))
    document: dict[str, Any] = warped(draw, copy.deepcopy(dict(sample)))
    return document


def rewritten(draw: st.DrawFn, body: bytes) -> bytes:
    """Change a body as JSON where it is some, and else as bytes."""
    if draw(st.booleans()):
        with contextlib.suppress(ValueError, RecursionError):
            return json.dumps(warped(draw, json.loads(body), least=1)).encode()
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, min(len(body), start + 20)))
    return body[:start] + draw(st.binary(max_size=8) | ODD.map(lambda odd: json.dumps(odd).encode())) + body[end:]


@st.composite
def bodies(draw: st.DrawFn, name: str) -> bytes:
    """What the provider would send, or anything else."""
    batch = min(sampler(name).BATCH, 3)
    body = sampler(name).body(draw(st.lists(raws(name), min_size=1, max_size=batch)))
    kind = draw(st.sampled_from(["honest", "honest", "odd", "junk"]))
    if kind == "junk":
        return draw(st.binary(max_size=40) | DEEP | JSON.map(lambda value: json.dumps(value).encode()))
    return rewritten(draw, body) if kind == "odd" else body


@st.composite
def requests(draw: st.DrawFn, name: str) -> Request:
    """A request that is genuine, almost genuine, or nothing of the kind."""
    body, headers = draw(bodies(name)), dict(honest_headers(name))
    # Where the sender itself cannot sign such a body, it comes with the headers of another.
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        body, headers = signed(sampler(name), body, keys_of(name), NOW)
    headers = {header.lower(): str(value) for header, value in headers.items()}
    for _ in range(draw(st.integers(0, 2))):
        header = draw(st.sampled_from([*headers, "authorization", "svix-id", "x-idempotency-key"]))
        value = headers.get(header, "")
        cut = draw(st.integers(0, len(value)))
        headers[header] = draw(
            st.sampled_from([value[:cut], value[cut:], value[:cut] + "\ud800"]) | ODD.map(str) | TEXT
        )
    return Request(
        source_name="main",
        method=draw(st.sampled_from(["POST", "POST", "POST", "HEAD", "GET"])),
        headers=headers,
        body=rewritten(draw, body) if draw(st.booleans()) else body,
        received_at=NOW,
    )


def storm(check: Callable[[Any], None], strategy: st.SearchStrategy[Any]) -> None:
    """Run a check on the same few examples, or on ever new ones for as long as it was asked."""
    if not SECONDS:
        settings(max_examples=EXAMPLES)(given(strategy)(check))()
        return
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        new_ground = settings(max_examples=200, derandomize=False)(given(strategy)(check))
        seed(SystemRandom().getrandbits(64))(new_ground)()


def read(name: str, raw: Any, headers: dict[str, str]) -> None:
    """Read one raw event as process does, and look at all that the store will ask of it."""
    assert may_be_unstorable(dumps(raw)) or storable_raw(raw) == raw
    try:
        events = REGISTRY[name].parse(raw, Origin(source=source_of(name), received_at=NOW, headers=headers))
    except UnparseableEvent:
        return
    for event in events:
        assert event.event_id.startswith(f"{name}:")
        assert len(event.fingerprint) == 32
        assert event.occurred_at.tzinfo is UTC
        assert event.recipient is None or event.recipient == event.recipient.strip() != ""
        assert (event.bounce_class is not None) == (event.type == "bounced")


def receive(name: str, request: Request) -> None:
    """Take a request through everything that the door asks of a provider, believed or not."""
    provider, secrets = REGISTRY[name], [keys_of(name).secret]
    certificate = getattr(sampler(name), "certificate", lambda keys: "")(keys_of(name))
    if provider.probe:
        provider.probe(request)
    if provider.key:
        provider.key(request)
    with contextlib.suppress(VerificationError):
        assert provider.verify
        provider.verify(replace(request, certificate=certificate), source_of(name), secrets)
    with contextlib.suppress(VerificationError):
        assert not provider.certificate_url or provider.certificate_url(request, secrets)
    with contextlib.suppress(VerificationError):
        assert not provider.confirm_url or provider.confirm_url(request) != ""
    with contextlib.suppress(MalformedPayload):
        assert not provider.claim or provider.claim(request)
    try:
        texts = [dumps(event) for event in provider.split(request.body, source_of(name))]
    except MalformedPayload:
        return
    carried = {header: request.headers[header] for header in provider.headers if header in request.headers}
    for text in texts:
        read(name, json.loads(text), carried)


@every
def test_any_request_is_refused_or_taken(name: str) -> None:
    storm(lambda request: receive(name, request), requests(name))


@every
def test_any_raw_event_is_read_or_set_aside(name: str) -> None:
    ids = st.dictionaries(st.sampled_from([*REGISTRY[name].headers, "other"]), TEXT)
    storm(lambda case: read(name, *case), st.tuples(raws(name) | st.dictionaries(TEXT, JSON, max_size=4), ids))


@pytest.mark.parametrize("name", [name for name, provider in REGISTRY.items() if provider.unwrap])
def test_any_queue_record_is_an_envelope_or_none(name: str) -> None:
    unwrap = REGISTRY[name].unwrap
    assert unwrap
    topics = {keys_of(name).secret: "main"}

    def check(record: dict[str, Any]) -> None:
        try:
            envelope = unwrap(record, topics, NOW)
        except NotAnEnvelope:
            return
        for raw in envelope.events if envelope else ():
            read(name, raw, dict(envelope.headers))

    message = raws(name).map(json.dumps) | TEXT
    shapes = {
        "Type": ODD | st.just("Notification"),
        "TopicArn": ODD | st.sampled_from(sorted(topics)),
        "Message": ODD | message,
        "MessageId": ODD,
    }
    bridge = {"source": st.just("aws.ses"), "detail-type": ODD, "detail": JSON | raws(name), "id": ODD}
    storm(check, st.fixed_dictionaries({}, optional=shapes) | st.fixed_dictionaries(bridge) | raws(name))
