"""Events: what their fingerprint sees and what it does not."""

from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import CUT, LONGEST, LONGEST_REASON, BounceClass, Effect, Event, EventType, digest

EVENT = Event(
    event_id="sendgrid:1",
    source="main",
    provider="sendgrid",
    kind="delivered",
    type=EventType.DELIVERED,
    message_id="m1",
    recipient="ann@example.com",
    occurred_at=datetime(2026, 1, 1, tzinfo=UTC),
    received_at=datetime(2026, 1, 2, tzinfo=UTC),
    raw={},
)


@pytest.mark.parametrize(
    "change",
    [
        {"event_id": "sendgrid:2"},
        {"received_at": datetime(2026, 1, 3, tzinfo=UTC)},
        {"type": EventType.OTHER, "bounce_class": BounceClass.SOFT, "effect": Effect.SUPPRESS},
        {"raw": {"sg_event_id": "new"}, "reason": "other words"},
    ],
    ids=["id", "arrival", "our mapping", "raw"],
)
def test_the_fingerprint_ignores_ids_arrival_and_our_mapping(change: dict[str, object]) -> None:
    redelivered = replace(EVENT, **change)  # type: ignore[arg-type]

    assert redelivered.fingerprint == EVENT.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "bounce"},
        {"message_id": "m2"},
        {"message_id": None},
        {"recipient": "bob@example.com"},
        {"scope": "group:1"},
        {"occurred_at": EVENT.occurred_at + timedelta(milliseconds=1)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_fingerprint_sees_what_the_provider_said(change: dict[str, object]) -> None:
    other = replace(EVENT, **change)  # type: ignore[arg-type]

    assert other.fingerprint != EVENT.fingerprint


def test_a_time_that_is_only_our_clock_is_not_part_of_the_fingerprint() -> None:
    first_at, again_at = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC)

    first = replace(EVENT, occurred_at=first_at, received_at=first_at, has_own_time=False)
    again = replace(EVENT, occurred_at=again_at, received_at=again_at, has_own_time=False)

    assert first.fingerprint == again.fingerprint


def test_a_stated_time_counts_even_where_it_is_the_time_of_arrival() -> None:
    at_once = replace(EVENT, received_at=EVENT.occurred_at)

    assert at_once.fingerprint == EVENT.fingerprint


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        EVENT.type = EventType.OTHER  # type: ignore[misc]


def test_a_digest_keeps_its_parts_apart_and_takes_any_text() -> None:
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("a") != digest("a", "")
    assert len(digest("\ud800", "\x00", "é")) == 32


@pytest.mark.parametrize("name", LONGEST)
def test_a_field_may_be_as_long_as_its_limit_and_no_longer(name: str) -> None:
    most = LONGEST[name]

    assert getattr(replace(EVENT, **{name: "x" * most}), name) == "x" * most  # type: ignore[arg-type]
    for long in ("x" * (most + 1), "é" * (most // 2 + 1), "\ud800" * (most // 3 + 1)):
        with pytest.raises(UnparseableEvent, match=f"^{name} is longer than {most} octets$"):
            replace(EVENT, **{name: long})  # type: ignore[arg-type]


def test_the_keys_of_the_store_fit_into_an_index() -> None:
    assert LONGEST["recipient"] + LONGEST["scope"] < 2_704
    assert LONGEST["recipient"] + LONGEST["message_id"] + 100 < 2_704


def test_a_long_reason_is_cut_with_a_mark_and_once() -> None:
    cut = replace(EVENT, reason="no such user " * 1_000)

    assert cut.reason is not None
    assert len(cut.reason) <= LONGEST_REASON
    assert cut.reason.startswith("no such user no such user")
    assert cut.reason.endswith(CUT)
    assert replace(cut).reason == cut.reason
    assert cut.fingerprint == EVENT.fingerprint


def test_a_reason_that_is_short_enough_is_left_alone() -> None:
    assert replace(EVENT, reason="r" * LONGEST_REASON).reason == "r" * LONGEST_REASON


@pytest.mark.parametrize(
    "address", ["ann@example.com", "ann%40example.com", "bounce+ann=40example.com", "<ann@example.com>"]
)
@pytest.mark.parametrize("around", [" ", ",", "(", '"'])
def test_no_address_is_cut_in_two(address: str, around: str) -> None:
    """Half an address is one that erase does not find any more."""
    for before in range(LONGEST_REASON - len(CUT) - len(address) - 4, LONGEST_REASON):
        reason = replace(EVENT, reason=f"{'r' * before}{around}{address}{around}{'r' * 2_000}").reason

        assert reason is not None
        assert address in reason or "ann" not in reason
