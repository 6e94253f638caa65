"""Postal: every row of its table, and the older signature where there is no newer one."""

from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.postal import TYPES
from samples.postal import SAMPLES
from tests.support.endpoint import Endpoint, meaning, read

MEANINGS = {
    "MessageSent": "delivered",
    "MessageDelayed": "deferred",
    "MessageHeld": "deferred",
    "dead address": "bounced/hard suppress",
    "refused for policy": "bounced/soft",
    "refused without a code": "bounced/unknown",
    "MessageBounced": "bounced/unknown",
    "MessageLoaded": "opened",
    "MessageLinkClicked": "clicked",
    "unknown": "other",
}

NEWER, OLDER = "X-Postal-Signature-256", "X-Postal-Signature"


def about(name: str, **change: Any) -> Event:
    raw = SAMPLES[name]
    payload = {key: value for key, value in {**raw["payload"], **change}.items() if value is not ...}
    return read("postal", {**raw, "payload": payload})


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("postal")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(about(name)) == MEANINGS[name]


def test_each_type_of_the_table_has_a_sample() -> None:
    assert TYPES.keys() <= {raw["event"] for raw in SAMPLES.values()}


@pytest.mark.parametrize(
    ("words", "means"),
    [
        ("550 5.1.1 no such user", "bounced/hard suppress"),
        ("550-5.1.10 unknown", "bounced/hard suppress"),
        ("552 5.2.2 mailbox full", "bounced/soft"),
        ("550 5.7.26 unauthenticated", "bounced/soft"),
        ("550 no such user", "bounced/unknown"),
        ("5.1.1.", "bounced/hard suppress"),
        ("host 15.1.12.9 said no", "bounced/unknown"),
        ("host 5.1.12.9 did not answer", "bounced/unknown"),
        ("host 192.5.1.1 did not answer", "bounced/unknown"),
        ("", "bounced/unknown"),
    ],
)
def test_only_the_servers_words_tell_of_the_address(words: str, means: str) -> None:
    assert meaning(about("dead address", output=words)) == means
    assert meaning(about("dead address", output=..., details=words)) == means


def test_the_time_of_the_attempt_comes_before_that_of_the_request() -> None:
    assert about("MessageSent").occurred_at == datetime(2026, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert about("MessageSent", timestamp=...).occurred_at == datetime(2026, 1, 1, 0, 0, 2, 250_000, tzinfo=UTC)


def test_a_bounce_is_about_the_message_that_was_sent() -> None:
    assert (about("MessageBounced").message_id, about("MessageBounced").recipient) == (
        "abc@example.org",
        "ann@example.com",
    )


@pytest.mark.parametrize("gone", ["event", "uuid", "timestamp"])
def test_an_event_without_what_makes_it_one_is_unparseable(gone: str) -> None:
    with pytest.raises(UnparseableEvent):
        read("postal", {**SAMPLES["MessageLoaded"], gone: None})


def test_an_older_server_signs_with_sha_1_only(endpoint: Endpoint) -> None:
    body, headers = endpoint.sign(endpoint.sampler.body([SAMPLES["MessageSent"]]))

    assert endpoint.post(body, {OLDER: headers[OLDER]}).status == 200
    assert endpoint.post(body, {NEWER: headers[NEWER]}).status == 200
    assert endpoint.post(body, headers).status == 200


def test_the_older_signature_does_not_make_up_for_a_wrong_newer_one(endpoint: Endpoint) -> None:
    body, headers = endpoint.sign(endpoint.sampler.body([SAMPLES["MessageSent"]]))

    assert endpoint.post(body, {**headers, NEWER: headers[OLDER]}).status == 401


def test_each_signature_has_its_own_digest(endpoint: Endpoint) -> None:
    body, headers = endpoint.sign(endpoint.sampler.body([SAMPLES["MessageSent"]]))

    assert endpoint.post(body, {OLDER: headers[NEWER]}).status == 401


def test_a_key_in_pem_is_a_key() -> None:
    keys = Endpoint("postal").keys
    public = load_pem_private_key(keys.signer.encode(), None).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    assert Endpoint("postal", keys=keys, secrets=["not a key", pem]).post_samples("MessageSent").status == 200
