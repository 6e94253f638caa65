"""SESMetric: every row of its tables, and an event that says almost nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import BounceClass, Effect, Event, EventType
from mailfold.providers.sesmetric import BOUNCE_CLASSES, TOLERANCE_S, TYPES
from samples.sesmetric import SAMPLES
from tests.support.origins import RECEIVED_AT, parse

MEANINGS: dict[str, tuple[EventType, BounceClass | None, Effect | None]] = {
    "send": (EventType.PROCESSED, None, None),
    "delivery": (EventType.DELIVERED, None, None),
    "delay": (EventType.DEFERRED, None, None),
    "bounce": (EventType.BOUNCED, BounceClass.HARD, Effect.SUPPRESS),
    "soft bounce": (EventType.BOUNCED, BounceClass.SOFT, None),
    "bounce of no class": (EventType.BOUNCED, BounceClass.UNKNOWN, None),
    "reject": (EventType.DROPPED, None, None),
    "open": (EventType.OPENED, None, None),
    "click": (EventType.CLICKED, None, None),
    "complaint": (EventType.COMPLAINED, None, Effect.SUPPRESS),
    "unsubscribe": (EventType.UNSUBSCRIBED, None, Effect.SUPPRESS),
    "resubscribe": (EventType.RESUBSCRIBED, None, Effect.LIFT),
    "unknown": (EventType.OTHER, None, None),
    "bare": (EventType.DELIVERED, None, None),
}


def read(name: str, *, received_at: datetime = RECEIVED_AT, **change: Any) -> Event:
    raw = {**SAMPLES[name], **change}
    [event] = parse(
        "sesmetric", {key: value for key, value in raw.items() if value is not ...}, received_at=received_at
    )
    return event


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    event = read(name)

    assert (event.type, event.bounce_class, event.effect) == MEANINGS[name]
    assert event.scope == ""


@pytest.mark.parametrize(("kind", "event_type"), TYPES.items())
def test_each_type_of_the_table_is_covered_and_translated(kind: str, event_type: EventType) -> None:
    [name, *_] = [name for name, raw in SAMPLES.items() if raw["type"] == kind]

    assert read(name).type is event_type


@pytest.mark.parametrize(("bounce_type", "bounce_class"), BOUNCE_CLASSES.items())
def test_each_bounce_type_is_translated_however_it_is_spelt(bounce_type: str, bounce_class: BounceClass) -> None:
    event = read("bounce", data={"bounce_type": bounce_type.title()})

    assert event.bounce_class is bounce_class
    assert event.kind == f"bounce/{bounce_type.title()}"


def test_the_fields_are_read_inside_data_and_beside_it() -> None:
    inside = read("bounce")
    beside = read("bare", message_id="m1", email="Bob@Example.com", reason="why")

    assert (inside.message_id, inside.recipient) == ("0102018f-000001", "ann@example.com")
    assert inside.reason == "550 5.1.1 no such user"
    assert (beside.message_id, beside.recipient, beside.reason) == ("m1", "bob@example.com", "why")


@pytest.mark.parametrize("name", ["occurred_at", "timestamp", "created_at"])
@pytest.mark.parametrize("stamp", ["2026-01-01T00:00:05.123Z", 1767225605123, "2026-01-01T01:00:05.123+01:00"])
def test_the_time_is_read_under_each_of_its_names(name: str, stamp: Any) -> None:
    assert read("bare", **{name: stamp}).occurred_at == datetime(2026, 1, 1, 0, 0, 5, 123_000, tzinfo=UTC)


def test_an_event_without_a_time_happened_when_it_arrived_and_is_still_one_event() -> None:
    later = RECEIVED_AT + timedelta(hours=1)

    first, again = read("bare"), read("bare", received_at=later)

    assert (first.occurred_at, again.occurred_at) == (RECEIVED_AT, later)
    assert (first.event_id, first.fingerprint) == (again.event_id, again.fingerprint)


def test_the_id_alone_identifies() -> None:
    assert read("bare").event_id == "sesmetric:evt_123"
    assert read("bare", id="evt_124").event_id != read("bare").event_id


@pytest.mark.parametrize("missing", ["id", "type"])
def test_an_event_without_what_makes_it_one_is_unparseable(missing: str) -> None:
    with pytest.raises(UnparseableEvent):
        read("bare", **{missing: ...})


def test_the_window_is_the_one_its_guide_asks_for() -> None:
    assert TOLERANCE_S == 300
