"""The reference fold: a function of the set of events, and the ranks that decide a message's status."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailfold.events import BounceClass, Effect, Event, EventType
from mailfold.fold import RANK, Status, Suppression, current_status, effect_of, fold

START = datetime(2026, 1, 1, tzinfo=UTC)
HARD, SOFT, UNKNOWN = BounceClass.HARD, BounceClass.SOFT, BounceClass.UNKNOWN
ASCENDING = [
    (EventType.PROCESSED, None),
    (EventType.DEFERRED, None),
    (EventType.BOUNCED, UNKNOWN),
    (EventType.BOUNCED, SOFT),
    (EventType.DELIVERED, None),
    (EventType.OPENED, None),
    (EventType.CLICKED, None),
    (EventType.UNSUBSCRIBED, None),
    (EventType.DROPPED, None),
    (EventType.BOUNCED, HARD),
    (EventType.COMPLAINED, None),
]


def event(name: str, event_type: EventType = EventType.DELIVERED, *, at: int = 0, **more: object) -> Event:
    values = {
        "event_id": f"test:{name}",
        "source": "main",
        "provider": "test",
        "kind": str(event_type),
        "type": event_type,
        "message_id": "m1",
        "recipient": "ann@example.com",
        "occurred_at": START + timedelta(seconds=at),
        "received_at": START + timedelta(days=1),
        "raw": {},
        **more,
    }
    return Event(**values)  # type: ignore[arg-type]


def stop(name: str, at: int, **more: object) -> Event:
    return event(name, EventType.COMPLAINED, at=at, effect=Effect.SUPPRESS, **more)


def lift(name: str, at: int, **more: object) -> Event:
    return event(name, EventType.RESUBSCRIBED, at=at, effect=Effect.LIFT, **more)


def only_suppression(*events: Event) -> Suppression:
    [suppression] = fold(events).suppressions.values()
    return suppression


def moment(at: int, name: str) -> tuple[datetime, str]:
    return START + timedelta(seconds=at), f"test:{name}"


def test_a_status_keeps_the_first_and_the_last_time() -> None:
    folded = fold([event("b", at=5), event("a", at=1), event("c", at=9)])

    [(key, status)] = folded.statuses.items()
    assert key == ("m1", "ann@example.com", EventType.DELIVERED, None)
    assert status == Status(first_at=START + timedelta(seconds=1), last_at=START + timedelta(seconds=9))


def test_statuses_are_kept_apart_by_message_recipient_type_and_bounce_class() -> None:
    events = [
        event("a"),
        event("b", message_id="m2"),
        event("c", recipient="bob@example.com"),
        event("d", EventType.BOUNCED, bounce_class=HARD),
        event("e", EventType.BOUNCED, bounce_class=SOFT),
    ]

    assert len(fold(events).statuses) == 5


@pytest.mark.parametrize("missing", ["message_id", "recipient"])
def test_an_event_without_message_or_recipient_has_no_status(missing: str) -> None:
    assert fold([event("a", **{missing: None})]).statuses == {}


def test_a_suppression_keeps_what_happened_first_and_last_whatever_came_first() -> None:
    suppression = only_suppression(stop("late", 9), lift("mid", 5), stop("early", 1), lift("before", 0))

    assert suppression.first_suppress == moment(1, "early")
    assert suppression.last_suppress == moment(9, "late")
    assert suppression.last_lift == moment(5, "mid")


def test_at_one_instant_the_id_decides() -> None:
    suppression = only_suppression(stop("b", 1), stop("a", 1), stop("c", 1))

    assert (suppression.first_suppress, suppression.last_suppress) == (moment(1, "a"), moment(1, "c"))


@pytest.mark.parametrize(
    ("events", "active"),
    [
        ([stop("s", 1)], True),
        ([lift("l", 1)], False),
        ([stop("s", 1), lift("l", 2)], False),
        ([stop("s", 2), lift("l", 1)], True),
        ([stop("s", 1), lift("l", 1)], True),
        ([stop("s", 1), lift("l", 2), stop("t", 3)], True),
    ],
    ids=["stop", "lift", "stop then lift", "lift then stop", "same instant", "stopped again"],
)
def test_an_address_is_stopped_while_no_lift_is_newer(events: list[Event], active: bool) -> None:
    for order in permutations(events):
        assert only_suppression(*order).active is active


def test_scopes_do_not_touch_each_other() -> None:
    folded = fold([stop("s", 1, scope="group:10"), lift("l", 2, scope="group:11"), stop("g", 3)])

    active = {scope: suppression.active for (_, scope), suppression in folded.suppressions.items()}
    assert active == {"group:10": True, "group:11": False, "": True}


def test_an_effect_needs_a_recipient_but_no_message() -> None:
    assert fold([stop("s", 1, recipient=None)]).suppressions == {}
    assert fold([stop("s", 1, message_id=None)]).suppressions != {}


MIX = st.lists(
    st.builds(
        lambda name, kind, at, recipient: event(
            f"{name}-{kind}-{at}-{recipient}", kind[0], at=at, effect=kind[1], recipient=recipient
        ),
        st.integers(0, 2),
        st.sampled_from(
            [
                (EventType.DELIVERED, None),
                (EventType.COMPLAINED, Effect.SUPPRESS),
                (EventType.RESUBSCRIBED, Effect.LIFT),
            ]
        ),
        st.integers(0, 3),
        st.sampled_from(["ann@example.com", "bob@example.com"]),
    ),
    max_size=12,
)


@given(MIX, st.randoms(use_true_random=False))
def test_order_and_copies_make_no_difference(events: list[Event], chance: object) -> None:
    shuffled = events + events[::2]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    assert fold(shuffled) == fold(events)


def test_every_kind_has_its_rank_in_this_order() -> None:
    assert sorted(RANK, key=RANK.__getitem__) == ASCENDING
    assert len(set(RANK.values())) == len(RANK)


@pytest.mark.parametrize("position", range(1, len(ASCENDING)))
def test_the_higher_rank_is_the_status_in_either_order(position: int) -> None:
    lower, higher = ASCENDING[position - 1], ASCENDING[position]

    assert current_status([lower, higher]) == current_status([higher, lower]) == higher


def test_a_late_delivered_does_not_undo_a_bounce() -> None:
    bounce, late = event("b", EventType.BOUNCED, at=1, bounce_class=HARD), event("d", at=9)

    kinds = [(kind, bounce_class) for _, _, kind, bounce_class in fold([bounce, late]).statuses]

    assert current_status(kinds) == (EventType.BOUNCED, HARD)


def test_what_says_nothing_about_delivery_has_no_rank() -> None:
    assert current_status([(EventType.OTHER, None), (EventType.RESUBSCRIBED, None)]) is None
    assert current_status([]) is None


@pytest.mark.parametrize(
    ("kind", "effect"),
    [
        ((EventType.BOUNCED, HARD), Effect.SUPPRESS),
        ((EventType.BOUNCED, SOFT), None),
        ((EventType.BOUNCED, UNKNOWN), None),
        ((EventType.COMPLAINED, None), Effect.SUPPRESS),
        ((EventType.UNSUBSCRIBED, None), Effect.SUPPRESS),
        ((EventType.RESUBSCRIBED, None), Effect.LIFT),
        *[((kind, None), None) for kind in EventType if kind in {"processed", "delivered", "deferred", "dropped"}],
        *[((kind, None), None) for kind in EventType if kind in {"opened", "clicked", "other"}],
    ],
    ids=str,
)
def test_what_each_kind_does_to_the_stop_list(
    kind: tuple[EventType, BounceClass | None], effect: Effect | None
) -> None:
    assert effect_of(*kind) is effect
