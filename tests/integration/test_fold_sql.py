"""The fold in SQL is the fold in Python, in any order, in any batches, with any copies."""

from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mailfold.events import Event
from mailfold.fold import RANK, current_status, fold
from samples import sampler
from tests.support.origins import parse
from tests.support.records import SOURCES, envelope, raw, record
from tests.support.state import folded

EMPTY = "truncate email_events, message_status, suppressions, claims, dead_letters, outbox restart identity"
#: Every sample of every source, one raw event each.
SAMPLES = [(name, sample) for name, source in SOURCES.items() for sample in sampler(source.provider).SAMPLES.values()]
AT = datetime(2026, 1, 5, 12, 30, 0, 250_000, tzinfo=UTC)


def reference(samples: Sequence[tuple[str, Any]]) -> list[Event]:
    return [event for source, event in samples for event in parse(SOURCES[source].provider, event, headers={})]


def records_of(samples: Sequence[tuple[str, Any]]) -> list[Any]:
    return [record(envelope(event, source=source, at=AT)) for source, event in samples]


def test_all_samples_fold_as_the_reference_says(workshop: Any, store: Any) -> None:
    outcome = workshop.process(*records_of(SAMPLES))

    assert outcome.failed == []
    assert store.value("select count(*) from dead_letters") == 0
    assert folded(store.rows) == fold(reference(SAMPLES))


@settings(max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 12), st.booleans())
def test_orders_batches_and_copies_make_no_difference(
    workshop: Any, store: Any, chance: Random, size: int, publish: bool
) -> None:
    store.rows(EMPTY)
    chosen = chance.sample(SAMPLES, 30)
    arriving = chosen + chance.choices(chosen, k=15)
    chance.shuffle(arriving)

    for start in range(0, len(arriving), size):
        workshop.process(*records_of(arriving[start : start + size]), publish=publish)

    assert folded(store.rows) == fold(reference(chosen))
    assert store.value("select count(*) from outbox") > 0 or not publish


def test_the_ranks_in_the_database_are_those_of_the_rules(store: Any) -> None:
    ranks = {
        (kind, bounce_class or None): rank for kind, bounce_class, rank in store.rows("select * from status_ranks")
    }

    assert ranks == {
        (str(kind), bounce_class and str(bounce_class)): rank for (kind, bounce_class), rank in RANK.items()
    }


def test_the_current_status_is_the_reference_s(workshop: Any, store: Any) -> None:
    workshop.process(*records_of(SAMPLES))

    kinds: dict[tuple[str, str], list[Any]] = {}
    for message, recipient, kind, bounce_class in fold(reference(SAMPLES)).statuses:
        kinds.setdefault((message, recipient), []).append((kind, bounce_class))
    shown = store.rows("select message_id, recipient, type, bounce_class from current_status")
    assert {(message, recipient): (kind, bounce_class) for message, recipient, kind, bounce_class in shown} == {
        key: current_status(seen) for key, seen in kinds.items() if current_status(seen)
    }


def test_the_suppressed_are_the_reference_s(workshop: Any, store: Any) -> None:
    workshop.process(*records_of(SAMPLES))

    active = {key for key, suppression in fold(reference(SAMPLES)).suppressions.items() if suppression.active}
    assert {(address, scope) for address, scope in store.rows("select address, scope from suppressed")} == active


def test_a_late_delivered_does_not_undo_a_bounce(workshop: Any, store: Any) -> None:
    bounce = raw("b", "bounce", at="2026-01-01T00:00:00Z", bounce_type="Permanent")
    late = raw("d", "delivery", at="2026-01-09T00:00:00Z")

    workshop.process(record(envelope(bounce)))
    workshop.process(record(envelope(late)))

    assert store.rows("select type, bounce_class from current_status") == [["bounced", "hard"]]
    assert store.value("select count(*) from suppressed") == 1


def test_a_suppression_keeps_what_happened_first_though_it_came_last(workshop: Any, store: Any) -> None:
    later = raw("later", "complaint", at="2026-01-09T00:00:00Z", reason="second")
    first = raw("first", "bounce", at="2026-01-01T00:00:00Z", bounce_type="Permanent", reason="no such user")

    workshop.process(record(envelope(later)))
    workshop.process(record(envelope(first)))

    [[since, reason, evidence, last]] = store.rows(
        "select since, reason, evidence, last_suppress ->> 'event_id' from suppressed"
    )
    assert since == datetime(2026, 1, 1, tzinfo=UTC)
    assert (reason, last) == ("bounced", "sesmetric:later")
    assert (evidence["event_id"], evidence["reason"]) == ("sesmetric:first", "no such user")


def test_the_evidence_outlives_the_event(workshop: Any, store: Any) -> None:
    workshop.process(record(envelope(raw("b", "complaint", reason="abuse"))))
    before = store.rows("select * from suppressed")

    store.rows("delete from email_events")

    assert store.rows("select * from suppressed") == before
    assert before[0][4]["event_id"] == "sesmetric:b"


@pytest.mark.parametrize("publish", [True, False])
def test_changes_are_announced_once_if_at_all(workshop: Any, store: Any, publish: bool) -> None:
    stop, lift = raw("s", "unsubscribe", at="2026-01-01T00:00:00Z"), raw("l", "resubscribe", at="2026-01-02T00:00:00Z")

    for events in ([stop], [stop, raw("again", "unsubscribe")], [lift], [lift]):
        workshop.process(record(envelope(*events, body=str(events).encode())), publish=publish)

    announced = store.rows("select topic, key from outbox order by outbox_id")
    assert announced == (
        [
            ["address_suppressed", "ann@example.com"],
            ["status_changed", "m1"],
            ["status_changed", "m1"],
            ["suppression_lifted", "ann@example.com"],
        ]
        if publish
        else []
    )


def test_a_status_is_announced_with_the_time_it_was_first_reached(workshop: Any, store: Any) -> None:
    workshop.process(record(envelope(raw("b", at="2026-01-02T00:00:00Z"), raw("a", at="2026-01-01T00:00:00Z"))))

    [[body]] = store.rows("select body from outbox")
    assert (body["type"], body["recipient"], body["occurred_at"]) == (
        "delivered",
        "ann@example.com",
        "2026-01-01T00:00:00+00:00",
    )
