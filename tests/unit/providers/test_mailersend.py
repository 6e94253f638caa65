"""MailerSend: every row of its table, two names of one header, and a secret that everybody knows."""

import hashlib
import hmac
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Effect, Event
from mailfold.providers.mailersend import PUBLIC_TEST_SECRET, TYPES
from samples import Keys
from samples.mailersend import SAMPLES
from tests.support.endpoint import Endpoint, meaning, read
from tests.support.origins import parse

MEANINGS = {
    "sent": "processed",
    "deferred": "deferred",
    "delivered": "delivered",
    "soft_bounced": "bounced/soft",
    "hard_bounced": "bounced/hard suppress",
    "opened": "opened",
    "opened_unique": "opened",
    "clicked": "clicked",
    "clicked_unique": "clicked",
    "unsubscribed": "unsubscribed suppress",
    "spam_complaint": "complained suppress",
    "without a morph": "processed",
    "unknown": "other",
}


def about(name: str, **change: Any) -> Event:
    raw = SAMPLES[name]
    data = {key: value for key, value in {**raw["data"], **change}.items() if value is not ...}
    return read("mailersend", {**raw, "data": data})


def signature_of(body: bytes, secret: str) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("mailersend")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(about(name)) == MEANINGS[name]


def test_each_type_of_the_table_has_a_sample() -> None:
    assert TYPES.keys() <= {raw["data"].get("type") for raw in SAMPLES.values()}


@pytest.mark.parametrize(
    "kind", ["survey_opened", "sender_identity.verified", "maintenance.start", "inbound.message", "webhook.test"]
)
def test_what_is_not_about_a_mail_is_other(kind: str) -> None:
    raw = {"type": kind, "created_at": "2026-01-01T00:00:00.000000Z", "data": {}}

    assert meaning(read("mailersend", raw)) == "other"


def test_the_activitys_own_type_comes_first() -> None:
    assert meaning(read("mailersend", {**SAMPLES["sent"], "type": "activity.delivered"})) == "processed"
    assert meaning(about("delivered", type=...)) == "delivered"


@pytest.mark.parametrize("header", ["Signature", "X-MailerSend-Signature"])
def test_the_signature_has_two_names(endpoint: Endpoint, header: str) -> None:
    body = endpoint.sampler.body([SAMPLES["sent"]])

    assert endpoint.post(body, {header: signature_of(body, endpoint.keys.secret)}).status == 200


@pytest.mark.parametrize("secrets", [[PUBLIC_TEST_SECRET], [PUBLIC_TEST_SECRET, "a secret of our own"]], ids=len)
@pytest.mark.parametrize("sample", ["unknown", "hard_bounced"])
def test_the_published_secret_lets_a_webhook_be_saved_and_nothing_in(secrets: list[str], sample: str) -> None:
    endpoint = Endpoint("mailersend", keys=Keys(secret="", signer=PUBLIC_TEST_SECRET), secrets=secrets)

    answer = endpoint.post_samples(sample)

    assert (answer.status, endpoint.sqs.bodies) == (200, [])


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "post"])
def test_the_published_secret_opens_no_other_method(method: str) -> None:
    endpoint = Endpoint("mailersend", keys=Keys(secret="", signer=PUBLIC_TEST_SECRET), secrets=["a secret of our own"])
    body, headers = endpoint.sign(b"anything at all")

    assert endpoint.post(body, headers, method=method).status == 405
    assert endpoint.post(body, headers).status == 200
    assert endpoint.sqs.bodies == []


def test_payload_version_2_is_read_too() -> None:
    data = {
        "id": "a1",
        "type": "hard_bounced",
        "created_at": "2026-01-01T00:00:05Z",
        "meta": {"reason": "no such user"},
    }
    raw = {"type": "activity.hard_bounced", "data": {**data, "message_id": "m2", "recipient": "Bob@Example.com"}}

    (event,) = parse("mailersend", raw)

    assert (event.message_id, event.recipient, event.effect) == ("m2", "bob@example.com", Effect.SUPPRESS)
    assert event.reason == "no such user"


REAL = "k8Jq2w9Zr5Tn7Xv1"


def test_beside_the_published_secret_a_real_one_still_works() -> None:
    endpoint = Endpoint("mailersend", keys=Keys(secret="", signer=REAL), secrets=[PUBLIC_TEST_SECRET, REAL])

    assert endpoint.post_samples("sent").status == 200


def test_slashes_are_signed_as_they_are_escaped(endpoint: Endpoint) -> None:
    body = endpoint.sampler.body([{**SAMPLES["clicked"], "url": "https://example.org"}]).replace(b"/", b"\\/")

    assert endpoint.post_signed(body).status == 200
    assert endpoint.post(body.replace(b"\\/", b"/"), endpoint.sign(body)[1]).status == 401


def test_the_time_is_the_activitys_and_not_the_webhooks() -> None:
    event = about("hard_bounced")

    assert event.occurred_at == datetime(2026, 1, 1, 0, 0, 5, 593_000, tzinfo=UTC)
    assert event.message_id == "m1"
    assert event.recipient == "ann@example.com"
    assert event.reason == "Host or domain name not found"


def test_the_activity_has_an_id_of_its_own() -> None:
    assert about("sent", id="63fd").event_id == "mailersend:63fd:sent"
    assert about("sent", id="63fd").event_id != about("delivered", id="63fd").event_id


def test_what_has_no_id_is_identified_by_what_it_says() -> None:
    first, again = about("unknown"), read("mailersend", dict(reversed(SAMPLES["unknown"].items())))

    assert first.event_id == again.event_id
    assert first.event_id != read("mailersend", {**SAMPLES["unknown"], "domain_id": "d2"}).event_id


@pytest.mark.parametrize("morph", [None, [], {}], ids=str)
def test_a_morph_may_be_anything_but_there(morph: Any) -> None:
    assert about("hard_bounced", morph=morph).reason is None


def test_an_event_without_a_time_is_unparseable() -> None:
    with pytest.raises(UnparseableEvent):
        read("mailersend", {"type": "webhook.test"})
