"""Mailgun: every row of its tables, a signature that covers only a token, and form posts from before 2018."""

import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.mailgun import SUPPRESSED_CODES
from samples import Raw
from samples.mailgun import SAMPLES
from tests.support.endpoint import NOW, Endpoint, meaning, read

MEANINGS = {
    "accepted": "processed",
    "delivered": "delivered",
    "temporary failure": "deferred",
    "permanent failure": "bounced/hard suppress",
    "dead address": "bounced/hard suppress",
    "given up": "bounced/soft",
    "failure of no class": "bounced/unknown",
    "suppressed by code": "dropped suppress",
    "suppressed by reason": "dropped suppress",
    "no delivery status": "bounced/hard suppress",
    "rejected": "dropped",
    "opened": "opened",
    "opened by a machine": "opened by a machine",
    "clicked": "clicked",
    "unsubscribed": "unsubscribed suppress",
    # The tags are the message's; whether the recipient left them or everything is not said.
    "unsubscribed from a tag": "unsubscribed suppress",
    "unsubscribed from a list": "unsubscribed suppress in list:news@example.org",
    "complained": "complained suppress",
    "unknown": "other",
}


def changed(name: str, **change: Any) -> Event:
    return read("mailgun", {**SAMPLES[name], **change})


def triple(secret: str, *, token: str = "t" * 50, at: datetime = NOW) -> dict[str, str]:
    stamp = str(int(at.timestamp()))
    signature = hmac.new(secret.encode(), f"{stamp}{token}".encode(), hashlib.sha256).hexdigest()
    return {"timestamp": stamp, "token": token, "signature": signature}


def request(signature: Raw, event: Raw) -> bytes:
    return json.dumps({"signature": signature, "event-data": event}).encode()


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("mailgun")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(changed(name)) == MEANINGS[name]


@pytest.mark.parametrize("code", [*sorted(SUPPRESSED_CODES), 605])
def test_what_mailgun_did_not_try_is_a_drop_of_a_stopped_address(code: str | int) -> None:
    event = changed("failure of no class", **{"delivery-status": {"code": code}})

    assert meaning(event) == "dropped suppress"


@pytest.mark.parametrize(
    ("words", "means"),
    [
        ("5.1.1 no such user", "bounced/hard suppress"),
        ("550-5.1.10 unknown.", "bounced/hard suppress"),
        ("5.7.1 spam", "bounced/unknown"),
        ("host 5.1.12.9 did not answer", "bounced/unknown"),
        ("host 192.5.1.1 did not answer", "bounced/unknown"),
    ],
)
def test_a_code_of_a_dead_address_is_not_taken_from_a_hosts_number(words: str, means: str) -> None:
    status = {"code": 550, "message": words}

    assert meaning(changed("failure of no class", **{"delivery-status": status})) == means


@pytest.mark.parametrize("kind", ["stored", "list_member_uploaded", "permanent_fail", "temporary_fail"])
def test_words_that_payloads_do_not_have_are_other(kind: str) -> None:
    assert meaning(changed("delivered", event=kind)) == "other"


@pytest.mark.parametrize("bot", ["apple", "gmail", "generic"])
@pytest.mark.parametrize("kind", ["opened", "clicked"])
def test_a_bot_is_a_machine(kind: str, bot: str) -> None:
    assert changed(kind, **{"client-info": {"bot": bot}}).machine


def test_an_id_is_unique_only_with_its_kind_and_its_day() -> None:
    shared = "Ase7i2zsRYeDXztHGENqRA"
    events = [changed(kind, id=shared, timestamp=1.5) for kind in ("opened", "clicked", "unsubscribed")]
    events.append(changed("opened", id=shared, timestamp=86401.5))

    assert len({event.event_id for event in events}) == 4


def test_an_event_without_an_id_is_unparseable() -> None:
    with pytest.raises(UnparseableEvent, match="no id"):
        changed("opened", id=None)


def test_the_fields_are_read() -> None:
    event = changed("permanent failure")

    assert event.occurred_at == datetime(2026, 1, 1, 0, 0, 6, 153_125, tzinfo=UTC)
    assert event.message_id == "20260101000000.1.ABCDEF@example.org"
    assert event.recipient == "ann@example.com"
    assert event.reason == "5.1.1 no such user"
    assert event.kind == "failed/permanent/bounce"


@pytest.mark.parametrize(
    ("to", "recipient"),
    [
        ("ann@example.com", "ann@example.com"),
        ("Ann <Ann@Example.com>", "ann@example.com"),
        ('"Jones, Ann" <ann@example.com>', "ann@example.com"),
        ("ann@example.com, Bob <bob@example.com>", None),
        ("", None),
        ("erased:" + "0f" * 32, "erased:" + "0f" * 32),
        ("@ann@example.com@", "@ann@example.com@"),
        ("@ann, ann@, @", None),
        # What is longer than a line names more than one, and the other one may stand behind any cut.
        ("ann@example.com," + " " * 1_000 + "bob@example.com", None),
    ],
)
def test_a_rejected_message_names_its_recipient_only_in_its_to_header(to: str, recipient: str | None) -> None:
    event = changed("rejected", message={"headers": {"to": to, "message-id": "m"}})

    assert event.recipient == recipient
    assert event.reason == "bad content"


def test_without_the_servers_words_the_reason_is_mailguns() -> None:
    assert changed("suppressed by reason").reason == "suppress-bounce"


def test_a_sub_account_is_proven_by_its_parents_signature(endpoint: Endpoint) -> None:
    child, parent = triple("another key"), triple(endpoint.keys.secret)
    signature = {**child, "parent-signature": parent["signature"]}

    assert endpoint.post(request(signature, SAMPLES["opened"]), {}).status == 200
    assert endpoint.post(request(child, SAMPLES["opened"]), {}).status == 401
    assert endpoint.post(request({**child, "parent-signature": "00"}, SAMPLES["opened"]), {}).status == 401


@pytest.mark.parametrize(
    ("late", "status"), [(timedelta(hours=8, minutes=30), 200), (timedelta(hours=9, minutes=1), 401)]
)
def test_a_retry_repeats_the_stamp_of_the_first_attempt(endpoint: Endpoint, late: timedelta, status: int) -> None:
    body = request(triple(endpoint.keys.secret, at=NOW), SAMPLES["complained"])

    assert endpoint.post(body, {}, received_at=NOW + late).status == status


def test_a_retry_has_the_same_claim_and_the_same_hash(endpoint: Endpoint) -> None:
    body = request(triple(endpoint.keys.secret), SAMPLES["complained"])

    endpoint.post(body, {})
    endpoint.post(body, {}, received_at=NOW + timedelta(hours=1))

    first, retried = endpoint.envelopes
    assert (first["claim_key"], first["request_hash"]) == (retried["claim_key"], retried["request_hash"])


def test_a_stolen_token_under_another_event_has_the_same_claim_but_another_hash(endpoint: Endpoint) -> None:
    stolen = triple(endpoint.keys.secret)

    endpoint.post(request(stolen, SAMPLES["delivered"]), {})
    endpoint.post(request(stolen, SAMPLES["complained"]), {})

    first, forged = endpoint.envelopes
    assert first["claim_key"] == forged["claim_key"]
    assert first["request_hash"] != forged["request_hash"]


def test_another_token_is_another_claim(endpoint: Endpoint) -> None:
    for token in ("a" * 50, "b" * 50):
        endpoint.post(request(triple(endpoint.keys.secret, token=token), SAMPLES["opened"]), {})

    first, second = endpoint.envelopes
    assert first["claim_key"] != second["claim_key"]


@pytest.mark.parametrize("gone", ["timestamp", "token", "signature"])
def test_each_part_of_the_signature_is_needed(endpoint: Endpoint, gone: str) -> None:
    signature = {name: value for name, value in triple(endpoint.keys.secret).items() if name != gone}

    assert endpoint.post(request(signature, SAMPLES["opened"]), {}).status == 401


def test_a_genuine_request_without_an_event_is_malformed(endpoint: Endpoint) -> None:
    body = json.dumps({"signature": triple(endpoint.keys.secret)}).encode()

    assert endpoint.post(body, {}).status == 400


def test_the_signature_is_not_kept(endpoint: Endpoint) -> None:
    endpoint.post(request(triple(endpoint.keys.secret), SAMPLES["opened"]), {})

    assert endpoint.queued == [SAMPLES["opened"]]


def form(*pairs: tuple[str, str]) -> bytes:
    return urlencode(pairs).encode()


LEGACY = (("recipient", "Ann@Example.com"), ("Message-Id", "<m-1@example.org>"), ("domain", "example.org"))


@pytest.mark.parametrize(
    ("fields", "means"),
    [
        ({"event": "delivered"}, "delivered"),
        ({"event": "opened"}, "opened"),
        ({"event": "clicked", "url": "https://example.com/a"}, "clicked"),
        ({"event": "complained"}, "complained suppress"),
        ({"event": "unsubscribed"}, "unsubscribed suppress"),
        ({"event": "bounced", "code": "550", "error": "5.1.1 no such user"}, "bounced/hard suppress"),
        ({"event": "bounced", "code": "550", "error": "refused"}, "bounced/unknown"),
        ({"event": "dropped", "reason": "hardfail", "code": "605"}, "dropped suppress"),
        ({"event": "dropped", "reason": "hardfail", "code": "606"}, "dropped suppress"),
        ({"event": "dropped", "reason": "old", "code": "498"}, "dropped"),
    ],
    ids=lambda value: str(value),
)
def test_form_posts_are_read(endpoint: Endpoint, fields: dict[str, str], means: str) -> None:
    body = form(*LEGACY, *fields.items(), *triple(endpoint.keys.secret).items())

    answer = endpoint.post(body, {"Content-Type": "application/x-www-form-urlencoded"})

    (raw,) = endpoint.queued
    event = read("mailgun", raw)
    assert answer.status == 200
    assert meaning(event) == means
    assert (event.recipient, event.message_id) == ("ann@example.com", "m-1@example.org")
    assert event.occurred_at == NOW


def test_user_variables_of_a_form_post_stand_in_for_nothing(endpoint: Endpoint) -> None:
    genuine = triple(endpoint.keys.secret)
    before = (("timestamp", "1"), ("token", "mine"), ("signature", "mine"))
    after = (("event", "delivered"), ("recipient", "bob@example.com"), ("id", "order-17"))
    body = form(("event", "complained"), *LEGACY, *before, *after, *genuine.items())

    assert endpoint.post(body, {}).status == 200

    (raw,) = endpoint.queued
    event = read("mailgun", raw)
    assert (meaning(event), event.recipient, event.occurred_at) == ("complained suppress", "ann@example.com", NOW)
    assert event.event_id == f"mailgun:complained:{genuine['token']}:{genuine['timestamp']}"
    assert "signature" not in raw


def test_two_form_posts_of_one_second_are_told_apart_by_their_tokens(endpoint: Endpoint) -> None:
    for token in ("a" * 50, "b" * 50):
        signature = triple(endpoint.keys.secret, token=token)
        endpoint.post(form(("event", "clicked"), *LEGACY, *signature.items()), {})

    assert len({read("mailgun", raw).event_id for raw in endpoint.queued}) == 2


@pytest.mark.parametrize("body", [b"", b"a", b"a=1&&", b"\xff", b"[1]", b'{"signature":[]}'], ids=ascii)
def test_what_holds_no_signature_is_not_verified(endpoint: Endpoint, body: bytes) -> None:
    assert endpoint.post(body, {}).status == 401
