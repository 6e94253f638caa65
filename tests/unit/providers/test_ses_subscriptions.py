"""SES list changes: one event for the list and one per topic that changed."""

import copy
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Effect, EventType
from samples import Raw
from samples.ses import SAMPLES
from tests.support.origins import parse

SUPPRESS, LIFT = Effect.SUPPRESS, Effect.LIFT


def subscription(before: Raw, after: Raw) -> Raw:
    raw = copy.deepcopy(SAMPLES["left the list"])
    raw["subscription"].update(oldTopicPreferences=before, newTopicPreferences=after)
    return raw


def topics(*, everything: bool = False, **statuses: str) -> Raw:
    listed = [{"topicName": name, "subscriptionStatus": status} for name, status in statuses.items()]
    return {"unsubscribeAll": everything, "topicSubscriptionStatus": listed}


@pytest.mark.parametrize(
    ("before", "after", "effects"),
    [
        (topics(), topics(everything=True), {"list:news": SUPPRESS}),
        (topics(daily="OptIn"), topics(everything=True, daily="OptOut"), {"list:news": SUPPRESS}),
        (topics(everything=True), topics(), {"list:news": LIFT}),
        (topics(daily="OptIn"), topics(daily="OptOut"), {"list:news/daily": SUPPRESS}),
        (topics(daily="OptOut"), topics(daily="OptIn"), {"list:news/daily": LIFT}),
        (topics(daily="OptIn", weekly="OptIn"), topics(daily="OptOut", weekly="OptIn"), {"list:news/daily": SUPPRESS}),
        (
            topics(daily="OptIn", weekly="OptOut"),
            topics(daily="OptOut", weekly="OptIn"),
            {"list:news/daily": SUPPRESS, "list:news/weekly": LIFT},
        ),
        (
            topics(everything=True),
            topics(daily="OptOut"),
            {"list:news": LIFT, "list:news/daily": SUPPRESS},
        ),
    ],
    ids=["left all", "left all and a topic", "joined", "left one", "joined one", "one of two", "swapped", "joined but"],
)
def test_each_change_is_an_event_in_its_own_scope(before: Raw, after: Raw, effects: dict[str, Effect]) -> None:
    events = parse("ses", subscription(before, after))

    assert {event.scope: event.effect for event in events} == effects
    assert len({event.event_id for event in events}) == len(effects)
    for event in events:
        wanted = EventType.UNSUBSCRIBED if event.effect is SUPPRESS else EventType.RESUBSCRIBED
        assert (event.type, event.kind) == (wanted, f"Subscription/{wanted}")


def test_leaving_and_joining_at_one_moment_are_different_events() -> None:
    left = parse("ses", subscription(topics(daily="OptIn"), topics(daily="OptOut")))
    joined = parse("ses", subscription(topics(daily="OptOut"), topics(daily="OptIn")))

    assert left[0].event_id != joined[0].event_id


@pytest.mark.parametrize("preferences", [{}, topics(), topics(daily="OptIn")], ids=["nothing", "none", "one"])
def test_a_change_that_changes_nothing_is_unparseable(preferences: Any) -> None:
    with pytest.raises(UnparseableEvent):
        parse("ses", subscription(preferences, preferences))


def test_a_mail_to_several_names_nobody() -> None:
    raw = subscription(topics(), topics(everything=True))
    raw["mail"]["destination"] = ["ann@example.com", "bob@example.com"]

    [event] = parse("ses", raw)

    assert event.recipient is None
