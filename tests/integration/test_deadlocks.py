"""Workers that overlap in opposite orders wait for each other, and never in a circle."""

from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier
from typing import Any

from local.samples import Raw
from tests.support.records import envelope, raw, record

WORKERS = 4
ROUNDS = 50


def round_of_events(number: int) -> list[Raw]:
    """Events that meet in few messages and few addresses, most of them stopping or lifting."""
    rng = Random(number)
    kinds = ["delivery", "complaint", "unsubscribe", "resubscribe"]
    return [
        raw(
            f"{number}-{n}",
            rng.choice(kinds),
            at=f"2026-01-{rng.randint(1, 28):02d}T00:00:00Z",
            message_id=f"m{rng.randrange(12)}",
            recipient=f"user{rng.randrange(12)}@example.com",
        )
        for n in range(60)
    ]


def test_overlapping_batches_in_opposite_orders_never_deadlock(make_workshop: Any, store: Any) -> None:
    workshops = [make_workshop() for _ in range(WORKERS)]
    start = Barrier(WORKERS)

    def work(worker: int) -> int:
        failed = 0
        for number in range(ROUNDS):
            events = round_of_events(number)
            Random(worker).shuffle(events)
            records = [record(envelope(*events[at : at + 10], {"note": "unparseable"})) for at in range(0, 60, 10)]
            start.wait()
            failed += len(workshops[worker].process(*records).failed)
        return failed

    with ThreadPoolExecutor(WORKERS) as pool:
        failed = sum(pool.map(work, range(WORKERS)))

    assert failed == 0
    assert store.value("select deadlocks from pg_stat_database where datname = current_database()") == 0
    assert store.value("select count(*) from email_events") == ROUNDS * 60
