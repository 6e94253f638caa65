"""Changes are numbered in the order in which they are committed, whoever began first and whatever rows they lock."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from random import Random
from threading import Barrier
from typing import Any

import pytest

from local.testing.proofs import NOW
from mailfold.errors import TransientStoreError
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.store import batch
from mailfold.store.connection import Database, Transaction
from tests.support.records import SOURCES, envelope, raw, record
from tests.support.state import await_waiting

NUMBERED = "select key, body ->> 'recipient' from outbox order by outbox_id"


def fold(tx: Transaction, event_id: str, **data: Any) -> None:
    origin = Origin(source=SOURCES["main"], received_at=NOW, headers={})
    events = REGISTRY["sesmetric"].parse(raw(event_id, data.pop("kind", "delivery"), **data), origin)
    batch.fold(tx, events, publish=True)


@pytest.fixture
def make_database(store: Any) -> Iterator[Callable[[], Database]]:
    """As many connections in the role of process as a test wants."""
    with ExitStack() as connections:

        def make() -> Database:
            database = Database(store.url("mailfold_process"))
            connections.callback(database.close)
            return database

        yield make


def test_of_two_recipients_of_a_message_the_one_committed_first_comes_first(store: Any, make_database: Any) -> None:
    with make_database().transaction() as slow:
        fold(slow, "a", recipient="ann@example.com")
        with make_database().transaction() as quick:
            fold(quick, "b", recipient="bob@example.com")
        seen = store.rows(NUMBERED)

    assert seen == [["m1", "bob@example.com"]]
    assert store.rows(NUMBERED) == [["m1", "bob@example.com"], ["m1", "ann@example.com"]]


def test_what_is_rolled_back_is_never_announced(store: Any, make_database: Any) -> None:
    with suppress(ZeroDivisionError), make_database().transaction() as tx:
        fold(tx, "a")
        raise ZeroDivisionError

    assert store.rows(NUMBERED) == []
    assert store.value("select count(*) from outbox_staging") == 0


def test_within_a_transaction_the_order_of_the_statements_counts(store: Any, make_database: Any) -> None:
    with make_database().transaction() as tx:
        for number, recipient in enumerate(["zoe@example.com", "ann@example.com"]):
            fold(tx, str(number), recipient=recipient)

    assert [row[1] for row in store.rows(NUMBERED)] == ["zoe@example.com", "ann@example.com"]


def test_a_commit_waits_for_the_one_before_it_and_a_lock_that_takes_too_long_fails_as_a_whole(
    store: Any, make_database: Any
) -> None:
    database = make_database()
    database.execute("set lock_timeout = '50ms'")
    store.rows("begin; lock table commit_gate in share update exclusive mode")

    with pytest.raises(TransientStoreError, match="55P03"), database.transaction() as tx:
        fold(tx, "a")
    store.rows("rollback")

    assert store.value("select count(*) from email_events") == 0
    with database.transaction() as tx:
        fold(tx, "a")
    assert store.rows(NUMBERED) == [["m1", "ann@example.com"]]


def test_whoever_changes_nothing_waits_for_nobody(store: Any, make_database: Any) -> None:
    database = make_database()
    with database.transaction() as tx:
        fold(tx, "a")
    store.rows("begin; lock table commit_gate in share update exclusive mode")

    with database.transaction() as tx:
        fold(tx, "b", at="2026-03-01T00:00:00Z")
    store.rows("rollback")

    assert store.value("select count(*) from email_events") == 2


def test_a_stop_and_a_lift_of_an_address_are_announced_in_the_order_of_their_locks(
    store: Any, make_database: Any
) -> None:
    first, second = make_database(), make_database()
    # The older transaction comes to the address second: neither the age of a transaction nor its id says who was first.
    with first.transaction() as older, ThreadPoolExecutor(1) as pool:
        fold(older, "own", message_id="other")
        with second.transaction() as newer:
            fold(newer, "suppress", kind="complaint", at="2026-01-01T00:00:00Z")
            lifting = pool.submit(fold, older, "lift", kind="resubscribe", at="2026-01-02T00:00:00Z")
            await_waiting(store.url("postgres"), 1)
        lifting.result()

    topics = [row[0] for row in store.rows("select topic from outbox where key = 'ann@example.com' order by outbox_id")]
    assert topics == ["address_suppressed", "suppression_lifted"]


def test_a_reader_at_any_moment_sees_no_gap_that_is_filled_later(store: Any, make_workshop: Any) -> None:
    """Eight workers on three messages; whoever looks sees a state that later ones only add to at the end."""
    workers, rounds = 8, 25
    workshops = [make_workshop() for _ in range(workers)]
    start = Barrier(workers + 1)
    looks: list[list[int]] = []

    def work(worker: int) -> int:
        rng = Random(worker)
        start.wait()
        failed = 0
        for number in range(rounds):
            recipient = f"{rng.randrange(1_000_000)}@example.com"
            events = [raw(f"{worker}-{number}-{n}", message_id=f"m{n}", recipient=recipient) for n in range(3)]
            failed += len(workshops[worker].process(record(envelope(*events))).failed)
        return failed

    with ThreadPoolExecutor(workers) as pool:
        done = [pool.submit(work, worker) for worker in range(workers)]
        start.wait()
        while not all(future.done() for future in done):
            looks.append([number for (number,) in store.rows("select outbox_id from outbox order by outbox_id")])
        failed = sum(future.result() for future in done)

    looks.append([number for (number,) in store.rows("select outbox_id from outbox order by outbox_id")])
    assert failed == 0
    assert len(looks[-1]) == workers * rounds * 3
    assert len({len(look) for look in looks}) > 10
    assert all(looks[-1][: len(look)] == look for look in looks)
