"""Workers that overlap in opposite orders wait for each other, and never in a circle."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier
from typing import Any

import pytest

from mailfold.queue import Record
from tests.support.records import envelope, raw, record

WORKERS = 4
ROUNDS = 25
ROWS = 150


def same_events(worker: int, number: int) -> list[Record]:
    """The same events, in envelopes of each worker's own."""
    events = [raw(f"{number}-{n}", message_id=f"m{n}") for n in range(ROWS)]
    Random(worker).shuffle(events)
    return [record(envelope(*events[at : at + 10], raw(f"own-{worker}-{number}-{at}"))) for at in range(0, ROWS, 10)]


def same_statuses(worker: int, number: int) -> list[Record]:
    """Different events of the same messages."""
    events = [raw(f"{worker}-{number}-{n}", message_id=f"m{n}") for n in range(ROWS)]
    return [record(envelope(*events))]


def same_suppressions(worker: int, number: int) -> list[Record]:
    """Different events that stop and lift the same addresses."""
    kinds = ["complaint", "resubscribe", "unsubscribe"]
    events = [
        raw(f"{worker}-{number}-{n}", kinds[n % 3], message_id=f"{worker}-{n}", recipient=f"user{n}@example.com")
        for n in range(ROWS)
    ]
    return [record(envelope(*events))]


def same_claims(worker: int, number: int) -> list[Record]:
    """The same envelopes, delivered in another order."""
    records = [record(envelope(raw(f"{number}-{n}"))) for n in range(ROWS)]
    Random(worker).shuffle(records)
    return records


def same_dead_letters(worker: int, number: int) -> list[Record]:
    """The same poison, in envelopes of each worker's own."""
    poison = [{"number": number, "n": n} for n in range(ROWS)]
    Random(worker).shuffle(poison)
    return [record(envelope(*poison, {"worker": worker, "number": number}))]


@pytest.mark.parametrize("batch", [same_events, same_statuses, same_suppressions, same_claims, same_dead_letters])
def test_overlapping_batches_never_deadlock(
    make_workshop: Any, store: Any, batch: Callable[[int, int], list[Record]]
) -> None:
    workshops = [make_workshop() for _ in range(WORKERS)]
    start = Barrier(WORKERS)

    def work(worker: int) -> int:
        failed = 0
        for number in range(ROUNDS):
            records = batch(worker, number)
            start.wait()
            failed += len(workshops[worker].process(*records).failed)
        return failed

    with ThreadPoolExecutor(WORKERS) as pool:
        failed = sum(pool.map(work, range(WORKERS)))

    assert failed == 0
    assert store.value("select deadlocks from pg_stat_database where datname = current_database()") == 0
    assert store.value("select count(*) from email_events") + store.value("select count(*) from dead_letters") > ROWS
