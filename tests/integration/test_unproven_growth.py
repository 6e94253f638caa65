"""One captured signature makes a bounded number of dead letters: a few are kept, the others are counted."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from mailfold.store.unproven import MOST_BYTES, MOST_CONTENTS
from tests.integration.conftest import Store, Workshop
from tests.support.captured import MAILGUN, Captured, event
from tests.support.records import SOURCES, envelope, raw, record

Order = Callable[..., dict[str, Any]]

KEPT = "select count(*) from dead_letters"
BYTES = "select coalesce(sum(octet_length(raw)), 0) from dead_letters"
NOT_KEPT = "select not_kept from claims"


@pytest.fixture(autouse=True)
def mailgun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "mailgun", MAILGUN)


@pytest.fixture
def captured() -> Captured:
    return Captured()


def conflicts(outcome: Any) -> int:
    assert outcome.failed == []
    return sum(counts.conflict for counts in outcome.counts)


def test_large_bodies_under_one_token_do_not_fill_the_store(
    workshop: Workshop, captured: Captured, store: Store
) -> None:
    workshop.process(record(captured.envelope(event("genuine"))))

    counted = [
        conflicts(workshop.process(record(captured.envelope(event(f"f{number}", note="x" * 400_000)))))
        for number in range(12)
    ]

    assert counted == [1] * 12
    assert store.value(KEPT) == 1
    assert store.value(BYTES) < 500_000
    assert store.value(NOT_KEPT) == 11


def test_a_few_are_kept_and_the_others_counted(workshop: Workshop, captured: Captured, store: Store) -> None:
    workshop.process(record(captured.envelope(event("genuine"))))

    for number in range(MOST_CONTENTS + 4):
        assert conflicts(workshop.process(record(captured.envelope(event(f"f{number}"))))) == 1

    assert (store.value(KEPT), store.value(NOT_KEPT)) == (MOST_CONTENTS, 4)
    # The first ones are kept, whatever comes later.
    kept = {json.loads(text)[0]["id"] for [text] in store.rows("select raw from dead_letters")}
    assert kept == {f"f{number}" for number in range(MOST_CONTENTS)}


def test_one_batch_is_bounded_as_well(workshop: Workshop, captured: Captured, store: Store) -> None:
    texts = [captured.envelope(event(name)) for name in ("genuine", *(f"f{number}" for number in range(9)))]

    outcome = workshop.process(*[record(text) for text in texts])

    assert (conflicts(outcome), store.value("select count(*) from email_events")) == (9, 1)
    assert (store.value(KEPT), store.value(NOT_KEPT)) == (MOST_CONTENTS, 9 - MOST_CONTENTS)


def test_together_they_stay_below_a_size(workshop: Workshop, captured: Captured, store: Store) -> None:
    workshop.process(record(captured.envelope(event("genuine"))))
    third = "x" * (MOST_BYTES // 3)

    workshop.process(*[record(captured.envelope(event(f"f{number}", note=third))) for number in range(4)])
    workshop.process(record(captured.envelope(event("small"))))

    assert store.value(BYTES) <= MOST_BYTES
    assert (store.value(KEPT), store.value(NOT_KEPT)) == (3, 2)


def test_a_copy_of_one_that_is_kept_is_not_another(workshop: Workshop, captured: Captured, store: Store) -> None:
    workshop.process(record(captured.envelope(event("genuine"))))
    same = captured.envelope(event("forged"))

    for _ in range(MOST_CONTENTS + 3):
        workshop.process(record(same), record(same))
    workshop.process(record(captured.envelope(event("other"))))

    assert (store.value(KEPT), store.value(NOT_KEPT)) == (2, None)


def test_each_token_has_a_bound_of_its_own(workshop: Workshop, store: Store) -> None:
    tokens = [Captured(f"token{number}") for number in range(3)]

    workshop.process(*[record(one.envelope(event(f"e{n}"))) for one in tokens for n in range(MOST_CONTENTS + 2)])

    # Of the same content under several tokens one dead letter is kept.
    assert store.value(KEPT) <= 3 * MOST_CONTENTS
    assert store.value("select count(distinct claim_key) from claims") == 3


def test_proven_contents_are_all_kept(workshop: Workshop, store: Store) -> None:
    for number in range(MOST_CONTENTS + 5):
        workshop.process(record(envelope(raw(f"e{number}"), body=b"one key")))

    assert store.value(KEPT) == MOST_CONTENTS + 4
    assert store.value(NOT_KEPT) is None


@pytest.mark.parametrize("workers", [2, 6])
def test_workers_at_the_same_moment_keep_no_more(
    make_workshop: Callable[[], Workshop], captured: Captured, store: Store, workers: int
) -> None:
    make_workshop().process(record(captured.envelope(event("genuine"))))
    texts = [[captured.envelope(event(f"f{worker}-{n}")) for n in range(4)] for worker in range(workers)]
    workshops = [make_workshop() for _ in range(workers)]
    start = Barrier(workers)

    def deliver(number: int) -> int:
        start.wait()
        return conflicts(workshops[number].process(*[record(text) for text in texts[number]]))

    with ThreadPoolExecutor(workers) as pool:
        counted = list(pool.map(deliver, range(workers)))

    assert counted == [4] * workers
    assert (store.value(KEPT), store.value(NOT_KEPT)) == (MOST_CONTENTS, 4 * workers - MOST_CONTENTS)


def test_overlapping_tokens_in_opposite_orders_do_not_deadlock(
    make_workshop: Callable[[], Workshop], store: Store
) -> None:
    tokens = [Captured(f"token{number}") for number in range(12)]
    make_workshop().process(*[record(one.envelope(event("genuine"))) for one in tokens])
    workshops = [make_workshop() for _ in range(4)]
    start = Barrier(4)

    def deliver(number: int) -> list[str]:
        texts = [one.envelope(event(f"f{number}-{one.signature['token']}")) for one in tokens]
        start.wait()
        order = texts if number % 2 else texts[::-1]
        return list(workshops[number].process(*[record(text) for text in order]).failed)

    with ThreadPoolExecutor(4) as pool:
        failed = list(pool.map(deliver, range(4)))

    assert failed == [[]] * 4
    assert store.value(KEPT) == 48


def test_what_was_not_kept_is_shown_beside_what_was(
    workshop: Workshop, captured: Captured, order: Order, reader: Any, store: Store
) -> None:
    workshop.process(*[record(captured.envelope(event(f"e{number}"))) for number in range(MOST_CONTENTS + 4)])
    key = store.value("select min(dead_letter_id) from dead_letters")

    assert order("dead-letters.show", id=key)["not_kept"] == 3
    assert {one["not_kept"] for one in order("dead-letters.list")["dead_letters"]} == {3}
    assert reader.get(f"/v1/dead-letters/{key}")["not_kept"] == 3


def test_only_a_conflict_of_this_kind_costs_round_trips(workshop: Workshop, captured: Captured, store: Store) -> None:
    workshop.process(record(captured.envelope(event("genuine"))), record(envelope(raw("e1"), body=b"one key")))
    workshop.database.statements.clear()
    workshop.process(record(captured.envelope(event("genuine"))), record(envelope(raw("e2"), body=b"one key")))
    proven = list(workshop.database.statements)
    workshop.database.statements.clear()
    workshop.process(record(captured.envelope(event("forged"))))

    assert proven == ["begin", "claim", "holders", "complete", "commit"]
    assert workshop.database.statements == [
        "begin",
        "claim",
        "holders",
        "unproven_hold",
        "unproven_keep",
        "complete",
        "commit",
    ]
