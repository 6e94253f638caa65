"""What must hold before an idempotent consumer of email events is deployed: one test per line of the checklist."""

import copy
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from mailfold.providers import REGISTRY
from mailfold.steps.unit import QUARANTINE_AFTER
from samples import sampler
from samples.ses import SAMPLES
from tests.support.pipeline import Pipeline
from tests.support.records import SOURCES, envelope, notification, raw, record
from tests.support.state import state


def test_email_events_has_a_unique_primary_key_on_the_event_id(workshop: Any, store: Any) -> None:
    key = store.rows(
        "select a.attname, i.indisunique from pg_index i"
        " join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)"
        " where i.indrelid = 'email_events'::regclass and i.indisprimary"
    )

    workshop.process(record(envelope(raw("evt_1"))))

    assert key == [["event_id", True]]
    assert store.value("select event_id from email_events") == "sesmetric:evt_1"


def test_the_event_id_of_ses_is_made_of_what_is_fixed_at_the_event_s_creation(workshop: Any, store: Any) -> None:
    bounce = copy.deepcopy(SAMPLES["permanent bounce"])

    for number in range(4):
        bounce["mail"]["headers"] = [{"name": "X-Attempt", "value": str(number)}]
        workshop.process(record(notification(bounce, message_id=f"sns-{number}")))

    assert store.value("select count(*) from email_events") == 1
    assert store.value("select count(*) from claims") == 4


def test_side_effects_run_only_for_an_event_that_was_inserted(workshop: Any, store: Any) -> None:
    workshop.process(record(envelope(raw("evt_1", "bounce", bounce_type="Permanent"))))
    once = state(store.rows)
    store.rows("delete from message_status; delete from suppressions; delete from outbox")

    workshop.process(record(envelope(raw("evt_1", "bounce", bounce_type="Permanent"), body=b"another request")))

    assert [len(once[table]) for table in ("message_status", "suppressions", "outbox")] == [1, 1, 2]
    assert [store.value(f"select count(*) from {table}") for table in ("message_status", "suppressions", "outbox")] == [
        0,
        0,
        0,
    ]


def test_side_effects_are_idempotent_upserts(workshop: Any, store: Any) -> None:
    for number in range(3):
        workshop.process(record(envelope(raw(f"evt_{number}", "complaint"))))

    assert store.value("select count(*) from suppressions") == 1
    assert store.value("select count(*) from message_status") == 1
    assert store.value("select count(*) from outbox where topic = 'address_suppressed'") == 1


@pytest.mark.parametrize("days", [(1, 5, 9), (9, 5, 1), (5, 9, 1)], ids=str)
def test_a_status_advances_only_with_a_newer_time(workshop: Any, store: Any, days: tuple[int, ...]) -> None:
    for day in days:
        workshop.process(record(envelope(raw(f"evt_{day}", "open", at=f"2026-01-{day:02d}T00:00:00Z"))))

    [[first, last]] = store.rows("select first_at, last_at from message_status")
    assert (first.day, last.day) == (1, 9)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("bounce", ["bounced", "hard"]), ("complaint", ["complained", None]), ("reject", ["dropped", None])],
)
def test_terminal_states_are_sticky_against_a_late_delivered(
    workshop: Any, store: Any, kind: str, shown: list[str | None]
) -> None:
    workshop.process(record(envelope(raw("end", kind, at="2026-01-01T00:00:00Z", bounce_type="Permanent"))))

    workshop.process(record(envelope(raw("late", "delivery", at="2026-01-02T00:00:00Z"))))

    assert store.rows("select type, bounce_class from current_status") == [shown]


def test_the_receiver_returns_200_before_the_work_runs(pipeline: Pipeline, store: Any) -> None:
    status = pipeline.post("main", [raw("evt_1")])
    before = store.value("select count(*) from email_events")

    pipeline.deliver()

    assert (status, before) == (200, 0)
    assert store.value("select count(*) from email_events") == 1


def test_poison_is_set_aside_after_a_finite_number_of_tries(
    workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(REGISTRY, "sesmetric", replace(REGISTRY["sesmetric"], parse=stumble))
    text = envelope(raw("evt_1"))

    tries = [
        len(workshop.process(record(text, receive_count=count)).failed) for count in range(1, QUARANTINE_AFTER + 1)
    ]

    assert tries == [1] * (QUARANTINE_AFTER - 1) + [0]
    assert store.value("select count(*) from dead_letters") == 1


def test_a_replayed_batch_adds_no_count_and_leaves_the_same_final_state(pipeline: Pipeline, store: Any) -> None:
    for name, source in SOURCES.items():
        for sample in sampler(source.provider).SAMPLES.values():
            if name != "ses":
                assert pipeline.post(name, [dict(sample)]) == 200
    bodies = pipeline.waiting() + [notification(sample, f"sns-{n}") for n, sample in enumerate(SAMPLES.values())]
    pipeline.deliver(bodies)
    once = state(store.rows)

    Random(7).shuffle(bodies)
    failed = pipeline.deliver(bodies) + pipeline.deliver(bodies[::-1])

    assert failed == 0
    assert len(once["email_events"]) > 40
    assert state(store.rows) == once
