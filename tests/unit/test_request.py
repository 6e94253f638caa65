"""Requests: the body stays the bytes that were signed, and verified is nothing one can claim."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from local.testing.events import gateway_event
from local.testing.proofs import verified_request
from mailfold.errors import VerificationError
from mailfold.request import Request, Source, VerifiedRequest
from mailfold.signatures import Proof

BODIES = {"plain": b'{"a":1}\r\n', "accents": '{"a":"é😀"}'.encode(), "empty": b""}


@pytest.mark.parametrize("encoding", ["base64", "plain"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_the_body_is_the_bytes_that_were_sent(body: bytes, encoding: str) -> None:
    event = gateway_event("main", body, {}, encoding=encoding)

    request = Request.from_api_gateway(event)

    assert request.body == body


def test_bytes_that_are_no_text_survive() -> None:
    body = bytes(range(256))

    request = Request.from_api_gateway(gateway_event("main", body, {}))

    assert request.body == body


@pytest.mark.parametrize("body", ["é", "a", "====", "YQ==\n!"])
def test_a_broken_base64_body_is_no_body(body: str) -> None:
    event = {**gateway_event("main", b"", {}), "body": body, "isBase64Encoded": True}

    request = Request.from_api_gateway(event)

    assert request.body == b""


def test_a_lone_surrogate_in_a_plain_body_is_bytes_too() -> None:
    event = {**gateway_event("main", b"", {}, encoding="plain"), "body": "\ud800"}

    assert Request.from_api_gateway(event).body == b"\xed\xa0\x80"


@pytest.mark.parametrize("absent", ["body", "headers", "pathParameters", "isBase64Encoded"])
@pytest.mark.parametrize("how", ["missing", "null"])
def test_what_api_gateway_leaves_out_is_empty(absent: str, how: str) -> None:
    event: dict[str, Any] = gateway_event("main", b"", {"X-Name": "v"})
    event = {**event, absent: None} if how == "null" else {name: event[name] for name in event if name != absent}

    request = Request.from_api_gateway(event)

    assert request.body == b""
    assert request.source_name == ("" if absent == "pathParameters" else "main")
    assert request.headers == ({} if absent == "headers" else {"x-name": "v"})


def test_names_and_time_are_read_once() -> None:
    event = {**gateway_event("main", b"", {}, method="post"), "headers": {"X-Name": "Value"}}
    at = datetime(2026, 1, 1, tzinfo=UTC)

    request = Request.from_api_gateway(event, received_at=at)

    assert (request.method, request.headers, request.received_at) == ("POST", {"x-name": "Value"}, at)
    assert Request.from_api_gateway(event).received_at.utcoffset() == UTC.utcoffset(None)


@pytest.mark.parametrize("headers", [{}, {"x-stamp": ""}], ids=["missing", "empty"])
def test_a_header_that_verification_needs_is_there_or_it_fails(headers: dict[str, str]) -> None:
    request = Request.from_api_gateway(gateway_event("main", b"", headers))

    with pytest.raises(VerificationError):
        request.header("x-stamp")


@pytest.mark.parametrize("forged", [None, "hmac-sha256", True, object(), Source(name="a", provider="b")], ids=str)
def test_only_a_proof_makes_a_request_verified(forged: object) -> None:
    genuine = verified_request(b"{}")

    with pytest.raises(TypeError):
        VerifiedRequest(request=genuine.request, source=genuine.source, proof=cast(Proof, forged))
