"""SES: every row of its tables, an event per recipient, and what makes two of its records one."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import BounceClass, Effect, Event, EventType
from mailfold.providers.ses import BOUNCE_CLASSES, TYPES
from samples import Raw
from samples.ses import SAMPLES
from tests.support.origins import parse

HARD, SOFT, UNKNOWN = BounceClass.HARD, BounceClass.SOFT, BounceClass.UNKNOWN
ANN, BOB = "ann@example.com", "bob@example.com"
SNS_ID = "x-amz-sns-message-id"
Meaning = tuple[EventType, BounceClass | None, Effect | None, str, list[str | None]]
MEANINGS: dict[str, Meaning] = {
    "Send": (EventType.PROCESSED, None, None, "", [ANN]),
    "Delivery": (EventType.DELIVERED, None, None, "", [ANN]),
    "DeliveryDelay": (EventType.DEFERRED, None, None, "", [ANN]),
    "permanent bounce": (EventType.BOUNCED, HARD, Effect.SUPPRESS, "", [BOB]),
    "permanent bounce of a 4.x.x": (EventType.BOUNCED, SOFT, None, "", [BOB]),
    "transient bounce": (EventType.BOUNCED, SOFT, None, "", [BOB]),
    "undetermined bounce": (EventType.BOUNCED, UNKNOWN, None, "", [BOB]),
    "suppressed bounce": (EventType.DROPPED, None, Effect.SUPPRESS, "", [BOB]),
    "complaint": (EventType.COMPLAINED, None, Effect.SUPPRESS, "", [ANN, BOB]),
    "not spam": (EventType.OTHER, None, None, "", [ANN, BOB]),
    "suppressed complaint": (EventType.DROPPED, None, Effect.SUPPRESS, "", [ANN, BOB]),
    "Reject": (EventType.DROPPED, None, None, "", [ANN]),
    "Rendering Failure": (EventType.DROPPED, None, None, "", [ANN]),
    "Open": (EventType.OPENED, None, None, "", [ANN]),
    "Open of several recipients": (EventType.OPENED, None, None, "", [None]),
    "Click": (EventType.CLICKED, None, None, "", [ANN]),
    "left the list": (EventType.UNSUBSCRIBED, None, Effect.SUPPRESS, "list:news", [ANN]),
    "joined the list again": (EventType.RESUBSCRIBED, None, Effect.LIFT, "list:news", [ANN]),
    "left a topic": (EventType.UNSUBSCRIBED, None, Effect.SUPPRESS, "list:news/daily", [ANN]),
    "unknown": (EventType.OTHER, None, None, "", [None]),
    "feedback notification": (EventType.BOUNCED, SOFT, None, "", [BOB]),
}


def changed(name: str, part: str | None = None, **change: Any) -> Raw:
    raw = copy.deepcopy(SAMPLES[name])
    place = raw if part is None else raw[part]
    place.update(change)
    for key in [key for key, value in place.items() if value is ...]:
        del place[key]
    return raw


def read(raw: Raw, sns_id: str | None = None) -> list[Event]:
    return parse("ses", raw, headers={SNS_ID: sns_id} if sns_id else {})


def ids(raw: Raw, sns_id: str | None = None) -> list[str]:
    return [event.event_id for event in read(raw, sns_id)]


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    events = read(SAMPLES[name])

    event_type, bounce_class, effect, scope, recipients = MEANINGS[name]
    assert [event.recipient for event in events] == recipients
    for event in events:
        assert (event.type, event.bounce_class, event.effect, event.scope) == (event_type, bounce_class, effect, scope)


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_of_the_table_has_a_sample_of_its_meaning(kind: str) -> None:
    seen = {
        event.type
        for raw in SAMPLES.values()
        if kind in (raw.get("eventType"), raw.get("notificationType"))
        for event in read(raw)
    }

    assert TYPES[kind] in seen


@pytest.mark.parametrize(
    ("bounce_type", "bounce_class"), [*BOUNCE_CLASSES.items(), ("Martian", UNKNOWN), (..., UNKNOWN)]
)
def test_each_bounce_type_is_translated(bounce_type: Any, bounce_class: BounceClass) -> None:
    raw = changed("permanent bounce", "bounce", bounceType=bounce_type, bouncedRecipients=[{"emailAddress": BOB}])

    [event] = read(raw)

    assert event.bounce_class is bounce_class


def test_a_permanent_bounce_is_hard_only_for_whom_it_is_permanent() -> None:
    people = [{"emailAddress": ANN, "status": "4.0.0"}, {"emailAddress": BOB, "status": "5.0.0"}]

    events = read(changed("permanent bounce", "bounce", bouncedRecipients=people))

    assert {event.recipient: (event.bounce_class, event.effect) for event in events} == {
        ANN: (SOFT, None),
        BOB: (HARD, Effect.SUPPRESS),
    }


@pytest.mark.parametrize("subtype", ["Suppressed", "OnAccountSuppressionList"])
def test_what_was_never_sent_is_a_drop_of_a_stopped_address(subtype: str) -> None:
    [event] = read(changed("permanent bounce", "bounce", bounceSubType=subtype))

    assert (event.type, event.bounce_class, event.effect) == (EventType.DROPPED, None, Effect.SUPPRESS)


def test_a_complaint_without_a_type_still_stops() -> None:
    events = read(changed("complaint", "complaint", complaintFeedbackType=...))

    assert [event.effect for event in events] == [Effect.SUPPRESS, Effect.SUPPRESS]


def test_each_recipient_has_an_event_of_its_own() -> None:
    assert len(set(ids(SAMPLES["complaint"]))) == 2


def test_both_producers_of_one_bounce_make_one_event() -> None:
    published = changed("permanent bounce", eventType="Bounce")
    fed_back = {**changed("permanent bounce", eventType=...), "notificationType": "Bounce"}
    del fed_back["mail"]["tags"]

    [first], [again] = read(published, "sns-1"), read(fed_back, "sns-2")

    assert first.event_id == again.event_id
    assert first.fingerprint == again.fingerprint


def test_two_bounces_of_one_message_are_two() -> None:
    assert ids(SAMPLES["permanent bounce"]) != ids(changed("permanent bounce", "bounce", feedbackId="fb-other"))


@pytest.mark.parametrize("name", ["Open", "Click"])
def test_two_opens_in_one_instant_are_told_apart_by_their_notification(name: str) -> None:
    assert ids(SAMPLES[name], "sns-1") == ids(SAMPLES[name], "sns-1")
    assert ids(SAMPLES[name], "sns-1") != ids(SAMPLES[name], "sns-2")


def test_clicks_without_a_notification_are_told_apart_by_what_they_say() -> None:
    assert ids(SAMPLES["Click"]) != ids(changed("Click", "click", link="https://example.com/b"))
    assert ids(SAMPLES["Click"]) != ids(changed("Click", "click", timestamp="2026-01-01T00:00:05.124Z"))
    assert ids(SAMPLES["Click"]) != ids(changed("Click", "click", ipAddress="192.0.2.9"))


@pytest.mark.parametrize("name", ["Send", "Delivery", "DeliveryDelay", "Reject", "Rendering Failure"])
def test_other_records_are_the_same_under_another_notification(name: str) -> None:
    assert ids(SAMPLES[name], "sns-1") == ids(SAMPLES[name], "sns-2")


def test_a_delay_repeats_legitimately() -> None:
    later = changed("DeliveryDelay", "deliveryDelay", timestamp="2026-01-01T00:20:00.000Z")

    assert ids(SAMPLES["DeliveryDelay"]) != ids(later)


@pytest.mark.parametrize("name", ["Send", "Reject", "Rendering Failure"])
def test_a_record_without_a_time_of_its_own_has_the_time_of_the_mail(name: str) -> None:
    [event] = read(SAMPLES[name])

    assert event.occurred_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_the_fields_are_read() -> None:
    [event] = read(SAMPLES["permanent bounce"])

    assert event.kind == "Bounce/Permanent/General"
    assert event.message_id == SAMPLES["Send"]["mail"]["messageId"]
    assert event.occurred_at == datetime(2026, 1, 1, 0, 0, 5, 123_000, tzinfo=UTC)
    assert event.reason == "smtp; 5.1.1"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Delivery", "250 2.0.0 OK"),
        ("DeliveryDelay", "smtp; 452 4.2.2 full"),
        ("complaint", "abuse"),
        ("Reject", "Bad content"),
        ("Rendering Failure", "Attribute 'name' is not present"),
        ("left the list", "UnsubscribeHeader"),
        ("feedback notification", "MailboxFull"),
    ],
)
def test_the_reason_is_the_most_telling_one(name: str, reason: str) -> None:
    assert {event.reason for event in read(SAMPLES[name])} == {reason}


@pytest.mark.parametrize(
    "raw",
    [
        changed("Delivery", eventType=...),
        changed("Delivery", "mail", messageId=...),
        changed("permanent bounce", "bounce", feedbackId=...),
        changed("permanent bounce", "bounce", bouncedRecipients=[]),
        changed("Delivery", "delivery", recipients=...),
        changed("DeliveryDelay", "deliveryDelay", timestamp="soon"),
        changed("left the list", "subscription", newTopicPreferences={}),
    ],
    ids=["type", "message", "feedback", "recipients", "nobody", "time", "change"],
)
def test_a_record_without_what_makes_it_one_is_unparseable(raw: Raw) -> None:
    with pytest.raises(UnparseableEvent):
        read(raw)
