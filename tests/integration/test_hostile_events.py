"""Events that are verified and hostile: very long, and made to be slow. They cost their neighbours nothing."""

from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import pytest

from mailfold.events import CUT, LONGEST, LONGEST_REASON
from tests.integration.conftest import Store, Workshop
from tests.support.captured import MAILGUN, Captured, event
from tests.support.records import SOURCES, envelope, raw, record
from tests.support.state import state

Order = Callable[..., dict[str, Any]]

EVENTS = "select event_id from email_events order by 1"
LONG = 880_000
HOSTILE = {"words": "a", "angles": "<", "turns": "a@<", "spaces": " ", "quotes": '"', "at signs": "@", "commas": ","}


@pytest.fixture(autouse=True)
def mailgun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "mailgun", MAILGUN)


def rejected(to: str) -> dict[str, Any]:
    hostile = event("hostile", "rejected", message={"headers": {"to": to, "message-id": "m"}})
    del hostile["recipient"]
    return hostile


def seconds(work: Callable[[], object]) -> float:
    began_at = process_time()
    work()
    return process_time() - began_at


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_signed_event_with_a_hostile_header_leaves_its_neighbours_alone(
    workshop: Workshop, store: Store, kind: str
) -> None:
    atom = HOSTILE[kind]
    header = (atom * LONG)[: LONG if atom != '"' else LONG // 2]
    hostile = Captured(token="hostile").envelope(rejected(header))

    outcome = workshop.process(record(envelope(raw("a"))), record(hostile), record(envelope(raw("b"))))

    assert outcome.failed == []
    folded = [row[0] for row in store.rows(EVENTS)]
    assert {"sesmetric:a", "sesmetric:b"} <= set(folded)
    assert len(folded) + store.value("select count(*) from dead_letters") == 3
    assert store.value("select count(*) from claims where result is null") == 0


def test_a_longer_header_costs_in_proportion(workshop: Workshop) -> None:
    """Hidden behind what any long event costs would be a square of its length."""
    bodies = [Captured(token=str(length)).envelope(rejected("a" * length)) for length in (LONG // 4, LONG)]

    short, long = (seconds(partial(workshop.process, record(body))) for body in bodies)

    assert long < max(0.5, 8 * short)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("event_id", {"id": "i" * 5_000}),
        ("message_id", {"data": {"message_id": "m" * 5_000, "recipient": "ann@example.com"}}),
        ("recipient", {"data": {"message_id": "m1", "recipient": f"{'r' * 320}@example.com"}}),
        ("kind", {"type": "k" * 5_000}),
    ],
)
def test_an_event_with_a_field_that_is_too_long_is_set_aside_by_the_name_of_the_field(
    workshop: Workshop, store: Store, field: str, change: dict[str, Any]
) -> None:
    workshop.process(record(envelope(raw("a"), {**raw("long"), **change}, raw("b"))))

    assert store.rows(EVENTS) == [["sesmetric:a"], ["sesmetric:b"]]
    reason = f"{field} is longer than {LONGEST[field]} octets"
    assert store.rows("select kind, reason from dead_letters") == [["unparseable", reason]]


def test_two_ids_that_differ_only_behind_the_limit_stay_two(workshop: Workshop, store: Store) -> None:
    workshop.process(*[record(envelope({**raw("i" * 3_000 + end), "note": end})) for end in "xy"])

    assert store.rows(EVENTS) == []
    assert store.value("select count(*) from dead_letters") == 2


def complaint(event_id: str = "c", reason: str = "5.1.1 " + "r" * 600_000) -> dict[str, Any]:
    return raw(event_id, "bounce", bounce_type="Permanent", reason=reason)


def test_a_long_reason_is_cut_wherever_it_stands_and_the_payload_is_whole(workshop: Workshop, store: Store) -> None:
    workshop.process(record(envelope(complaint())))

    reasons = [
        store.value("select reason from email_events"),
        store.value("select first_suppress ->> 'reason' from suppressions"),
        store.value("select last_suppress ->> 'reason' from suppressions"),
        store.value("select body -> 'because' ->> 'reason' from outbox where topic = 'address_suppressed'"),
    ]
    assert len(set(reasons)) == 1
    assert len(reasons[0]) == LONGEST_REASON
    assert reasons[0].startswith("5.1.1 rrr")
    assert reasons[0].endswith(CUT)
    assert store.value("select length(payload -> 'data' ->> 'reason') from email_events") == 600_006


def test_a_redelivery_and_a_replay_cut_it_alike(workshop: Workshop, order: Order, store: Store) -> None:
    workshop.process(record(envelope(complaint())))
    before = state(store.rows)

    workshop.process(record(envelope(complaint(), body=b"again")))
    order("replay", source="main", apply=True)

    after = state(store.rows)
    assert {name: rows for name, rows in after.items() if name != "claims"} == {
        name: rows for name, rows in before.items() if name != "claims"
    }


def test_two_contents_that_differ_only_behind_the_cut_are_both_kept(workshop: Workshop, store: Store) -> None:
    """Of one id they are one event, as whatever its reason; of two ids they are two."""
    ends = [complaint(event_id, "r" * 5_000 + event_id) for event_id in ("one", "two")]

    workshop.process(record(envelope(*ends)))

    assert store.value("select count(*) from email_events") == 2
    assert store.value("select count(distinct payload -> 'data' ->> 'reason') from email_events") == 2
    assert store.value("select count(distinct reason) from email_events") == 1
