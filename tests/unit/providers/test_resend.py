"""Resend: every row of its tables, an id that only the header has, and recipients that cannot be told apart."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.resend import NEVER_SENT, TYPES
from samples.resend import SAMPLES
from tests.support.endpoint import Endpoint, meaning, read

MEANINGS = {
    "email.scheduled": "processed",
    "email.sent": "processed",
    "email.delivered": "delivered",
    "email.delivery_delayed": "deferred",
    "permanent bounce": "bounced/hard suppress",
    "transient bounce": "bounced/soft",
    "undetermined bounce": "bounced/unknown",
    "bounce without a type": "bounced/hard suppress",
    "suppressed bounce": "dropped suppress",
    "email.suppressed": "dropped suppress",
    "email.failed": "dropped",
    "email.opened": "opened",
    "email.clicked": "clicked",
    "email.complained": "complained suppress",
    "of several recipients": "delivered",
    "suppression.added": "dropped suppress",
    "suppression.removed": "resubscribed lift",
    "contact unsubscribed": "unsubscribed suppress",
    "contact updated": "other",
    "unknown": "other",
}


def changed(name: str, *, headers: dict[str, str] | None = None, **change: Any) -> Event:
    return read("resend", {**SAMPLES[name], **change}, headers={"svix-id": "msg_1"} if headers is None else headers)


def about(name: str, **change: Any) -> Event:
    return changed(name, data={**SAMPLES[name]["data"], **change})


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("resend")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(changed(name)) == MEANINGS[name]


def test_each_type_of_the_table_has_a_sample() -> None:
    assert TYPES.keys() <= {raw["type"] for raw in SAMPLES.values()}


@pytest.mark.parametrize("kind", ["contact.created", "contact.deleted", "domain.updated", "email.received"])
def test_what_is_not_about_a_mail_that_was_sent_is_other(kind: str) -> None:
    assert meaning(changed("unknown", type=kind)) == "other"


@pytest.mark.parametrize("subtype", sorted(NEVER_SENT))
def test_what_was_never_sent_is_a_drop_of_a_stopped_address(subtype: str) -> None:
    bounce = {"type": "Permanent", "subType": subtype}

    assert meaning(about("permanent bounce", bounce=bounce)) == "dropped suppress"


def test_a_bounce_type_nobody_knows_condemns_no_address() -> None:
    assert meaning(about("permanent bounce", bounce={"type": "Quantum"})) == "bounced/unknown"


@pytest.mark.parametrize("subtype", ["MessageTooLarge", "ContentRejected", "AttachmentRejected"])
def test_a_bounce_that_another_message_would_not_meet_blames_this_one(subtype: str) -> None:
    bounce = {"type": "Transient", "subType": subtype}

    assert meaning(about("transient bounce", bounce=bounce)) == "bounced/soft for the message"


def test_the_id_is_only_in_the_header() -> None:
    assert changed("email.sent", headers={"svix-id": "msg_1"}).event_id == "resend:msg_1"
    assert changed("email.sent", headers={"webhook-id": "msg_2"}).event_id == "resend:msg_2"
    with pytest.raises(UnparseableEvent, match="no svix-id"):
        changed("email.sent", headers={})


def test_the_id_travels_with_the_event(endpoint: Endpoint) -> None:
    body, headers = endpoint.sign(endpoint.sampler.body([SAMPLES["email.sent"]]))

    endpoint.post(body, headers)

    assert endpoint.envelopes[0]["headers"] == {"svix-id": headers["svix-id"]}


@pytest.mark.parametrize(
    ("to", "recipient"),
    [
        (["ann@example.com"], "ann@example.com"),
        (["Ann <Ann@Example.com>"], "ann@example.com"),
        (["ann@example.com", "bob@example.com"], None),
        ([], None),
        (None, None),
        ("ann@example.com", None),
    ],
    ids=str,
)
def test_an_event_names_its_recipient_only_if_there_is_one(to: Any, recipient: str | None) -> None:
    event = about("email.complained", to=to)

    assert event.recipient == recipient
    assert event.message_id == "00000000-bbbb-4000-8000-000000000001"


def test_an_entry_of_the_stop_list_names_its_address_and_no_message() -> None:
    event = read(
        "resend", {"type": "suppression.added", "created_at": "2026-01-01T00:00:00Z", "data": {"email": "B@x"}}
    )

    assert (event.recipient, event.message_id, meaning(event)) == ("b@x", None, "dropped suppress")


@pytest.mark.parametrize("stamp", ["2026-01-01T00:00:02.126Z", "2026-01-01T00:00:02.126000+00:00"])
def test_the_time_is_the_events_not_the_messages(stamp: str) -> None:
    raw = {**SAMPLES["email.sent"], "created_at": stamp}
    raw["data"] = {**raw["data"], "created_at": "2025-12-31T00:00:00.000Z"}

    assert read("resend", raw).occurred_at == datetime(2026, 1, 1, 0, 0, 2, 126_000, tzinfo=UTC)
    with pytest.raises(UnparseableEvent):
        read("resend", {**raw, "created_at": None})


@pytest.mark.parametrize("tags", [{"kind": "welcome"}, [{"name": "kind", "value": "welcome"}], None], ids=str)
def test_tags_come_in_two_shapes(tags: Any) -> None:
    assert about("email.sent", tags=tags).raw["data"]["tags"] == tags


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("permanent bounce", "smtp; 550 5.1.1"),
        ("bounce without a type", "gone"),
        ("email.failed", "reached_daily_quota"),
        ("suppression.added", "bounce"),
    ],
)
def test_the_reason_is_the_most_telling_one(name: str, reason: str) -> None:
    assert changed(name).reason == reason


def test_the_names_of_the_specification_are_understood_as_well(endpoint: Endpoint) -> None:
    body, headers = endpoint.sign(endpoint.sampler.body([SAMPLES["email.sent"]]))
    renamed = {name.replace("svix-", "webhook-"): value for name, value in headers.items()}

    assert endpoint.post(body, renamed).status == 200
    assert endpoint.envelopes[0]["headers"] == {"webhook-id": headers["svix-id"]}


@pytest.mark.parametrize("name", ["svix-id", "svix-timestamp", "svix-signature"])
def test_the_two_sets_of_names_cannot_be_mixed(endpoint: Endpoint, name: str) -> None:
    body, headers = endpoint.sign(endpoint.sampler.body([SAMPLES["email.sent"]]))
    headers[name.replace("svix-", "webhook-")] = headers.pop(name)

    assert endpoint.post(body, headers).status == 401


def test_an_id_with_a_dot_could_hide_where_it_ends(endpoint: Endpoint) -> None:
    body, headers = endpoint.sign(b'1767225600.{"type":"email.sent"}')
    stamp = headers["svix-timestamp"]

    assert endpoint.post(body, headers).status == 400
    moved = {**headers, "svix-id": f"{headers['svix-id']}.{stamp}", "svix-timestamp": "1767225600"}
    assert endpoint.post(b'{"type":"email.sent"}', moved, received_at=datetime(2026, 1, 1, tzinfo=UTC)).status == 401
