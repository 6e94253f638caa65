"""SendGrid: every row of its tables, and what makes two of its events one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import BounceClass, Effect, Event, EventType
from mailfold.providers.sendgrid import DELIVERY_KINDS, ENGAGEMENT_KINDS, STOPPING_DROPS, TOLERANCE_S, TYPES
from samples.sendgrid import SAMPLES
from tests.support.origins import parse

HARD, SOFT, UNKNOWN = BounceClass.HARD, BounceClass.SOFT, BounceClass.UNKNOWN
MEANINGS: dict[str, tuple[EventType, BounceClass | None, Effect | None, str]] = {
    "processed": (EventType.PROCESSED, None, None, ""),
    "deferred": (EventType.DEFERRED, None, None, ""),
    "delivered": (EventType.DELIVERED, None, None, ""),
    "bounce": (EventType.BOUNCED, HARD, Effect.SUPPRESS, ""),
    "blocked": (EventType.BOUNCED, SOFT, None, ""),
    "bounce without type": (EventType.BOUNCED, SOFT, None, ""),
    "bounce of no class": (EventType.BOUNCED, UNKNOWN, None, ""),
    "dropped for the address": (EventType.DROPPED, None, Effect.SUPPRESS, ""),
    "dropped for the content": (EventType.DROPPED, None, None, ""),
    "open": (EventType.OPENED, None, None, ""),
    "machine open": (EventType.OPENED, None, None, ""),
    "click": (EventType.CLICKED, None, None, ""),
    "spamreport": (EventType.COMPLAINED, None, Effect.SUPPRESS, ""),
    "unsubscribe": (EventType.UNSUBSCRIBED, None, Effect.SUPPRESS, ""),
    "group_unsubscribe": (EventType.UNSUBSCRIBED, None, Effect.SUPPRESS, "group:10"),
    "group_resubscribe": (EventType.RESUBSCRIBED, None, Effect.LIFT, "group:10"),
    "unknown": (EventType.OTHER, None, None, ""),
}


def read(name: str, **change: Any) -> Event:
    raw = {**SAMPLES[name], **change}
    [event] = parse("sendgrid", {key: value for key, value in raw.items() if value is not ...})
    return event


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    event = read(name)

    assert (event.type, event.bounce_class, event.effect, event.scope) == MEANINGS[name]


@pytest.mark.parametrize(("kind", "event_type"), TYPES.items())
def test_each_type_of_the_table_is_covered_and_translated(kind: str, event_type: EventType) -> None:
    [name, *_] = [name for name, raw in SAMPLES.items() if raw["event"] == kind]

    assert read(name).type is event_type


@pytest.mark.parametrize(
    ("bounce_type", "status", "expected"),
    [
        ("bounce", "5.1.1", HARD),
        ("bounce", "4.2.2", HARD),
        ("blocked", "5.7.1", SOFT),
        ("expired", "5.0.0", HARD),
        (..., "5.1.1", HARD),
        (..., "4.2.2", SOFT),
        (..., 5, HARD),
        (..., "2.0.0", UNKNOWN),
        (..., ..., UNKNOWN),
    ],
)
def test_the_type_of_a_bounce_is_the_authority_and_its_status_the_next(
    bounce_type: Any, status: Any, expected: BounceClass
) -> None:
    assert read("bounce", type=bounce_type, status=status).bounce_class is expected


@pytest.mark.parametrize("reason", STOPPING_DROPS)
def test_a_drop_for_a_dead_address_stops_it_however_it_is_spelt(reason: str) -> None:
    assert read("dropped for the address", reason=reason.title()).effect is Effect.SUPPRESS


@pytest.mark.parametrize(
    "reason", ["Spam Content", "Invalid SMTPAPI header", "Recipient List over Package Quota", "", ...]
)
def test_a_drop_for_another_reason_stops_nobody(reason: Any) -> None:
    assert read("dropped for the address", reason=reason).effect is None


def test_an_unknown_type_is_kept_as_other_with_its_own_word() -> None:
    event = read("delivered", event="teleported")

    assert (event.type, event.kind, event.effect) == (EventType.OTHER, "teleported", None)


def test_the_fields_are_read() -> None:
    event = read("delivered")

    assert event.recipient == "ann@example.com"
    assert event.message_id == "Ab3dEf6hIj9lMn2pQr5tUv"
    assert event.occurred_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert event.reason == "250 2.0.0 OK"
    assert read("bounce").kind == "bounce/bounce"


def test_a_machine_open_is_marked_and_a_human_one_is_not() -> None:
    assert read("machine open").machine
    assert not read("open").machine
    assert not read("open", sg_machine_open="true").machine


@pytest.mark.parametrize(("stamp", "milliseconds"), [(1767225600372, 372), ("1767225600372", 372), ("1767225600", 0)])
def test_a_stamp_in_milliseconds_or_in_digits_is_understood(stamp: Any, milliseconds: int) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)

    assert read("delivered", timestamp=stamp).occurred_at == moment


def test_a_group_names_its_scope_only_where_the_group_is_what_changes() -> None:
    assert read("delivered", asm_group_id=10).scope == ""
    assert read("unsubscribe", asm_group_id=10).scope == ""


@pytest.mark.parametrize("kind", sorted(DELIVERY_KINDS))
def test_delivery_events_redelivered_under_a_new_id_are_the_same_event(kind: str) -> None:
    first, again = read(kind_sample(kind)), read(kind_sample(kind), sg_event_id="bmV3")

    assert first.event_id == again.event_id
    assert first.fingerprint == again.fingerprint


@pytest.mark.parametrize("kind", sorted(ENGAGEMENT_KINDS))
def test_two_clicks_or_opens_in_one_second_are_two(kind: str) -> None:
    assert read(kind).event_id != read(kind, sg_event_id="another").event_id


@pytest.mark.parametrize("kind", sorted(ENGAGEMENT_KINDS))
def test_a_click_or_open_without_an_id_cannot_be_told_from_another(kind: str) -> None:
    with pytest.raises(UnparseableEvent):
        read(kind, sg_event_id=...)


@pytest.mark.parametrize(
    "change",
    [
        {"email": "bob@example.com"},
        {"timestamp": 1767225601},
        {"attempt": "4"},
        {"response": "452 full"},
        {"sg_message_id": "Zz.recvd-1.0"},
        {"event": "processed"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_delivery_events_that_say_something_else_are_different(change: dict[str, Any]) -> None:
    assert read("deferred").event_id != read("deferred", **change).event_id


def test_a_list_change_without_an_id_is_identified_by_what_it_says() -> None:
    assert read("unsubscribe").event_id == read("unsubscribe", email="ANN@example.com").event_id
    assert read("unsubscribe").event_id != read("unsubscribe", timestamp=1767225705).event_id
    assert read("unsubscribe").message_id is None


@pytest.mark.parametrize("missing", ["event", "email", "timestamp"])
def test_an_event_without_what_makes_it_one_is_unparseable(missing: str) -> None:
    with pytest.raises(UnparseableEvent):
        read("delivered", **{missing: ...})


def test_a_retry_of_a_whole_day_is_still_fresh() -> None:
    assert TOLERANCE_S > 24 * 3600


def kind_sample(kind: str) -> str:
    return "dropped for the address" if kind == "dropped" else kind
