"""All or nothing: a fault at any statement leaves nothing behind, and the retry is as if it had never been."""

from collections.abc import Callable
from typing import Any

import pytest

from mailfold.errors import TransientStoreError
from mailfold.store.connection import Database
from tests.support.pipeline import Pipeline
from tests.support.records import envelope, raw, record
from tests.support.state import state

BOUNCE = raw("b", "bounce", bounce_type="Permanent")
SEEN = envelope(raw("old", "open"))
#: Something of everything: new, held by a claim, held by an event, in conflict, unparseable, not an envelope.
BATCH = [
    SEEN,
    envelope(raw("a"), BOUNCE, {"type": "no id"}),
    envelope(raw("c", "complaint", recipient="bob@example.com"), raw("old", "open", at="2026-02-02T00:00:00Z")),
    "not an envelope",
]
#: Every statement there is: before a conflict is settled its people may have been erased, the second fold settles it,
#: and the second look sees what others settled meanwhile.
STATEMENTS = ["begin", "claim", "holders", "fold", "held", "erased_as", "fold", "held", "complete", "commit"]


def deliver(workshop: Any) -> Any:
    return workshop.process(*[record(body) for body in BATCH])


@pytest.fixture
def workshop(workshop: Any) -> Any:
    """A workshop that has seen some of the batch before."""
    workshop.process(record(SEEN), record(envelope(BOUNCE)))
    return workshop


def test_the_batch_needs_every_statement_there_is(workshop: Any) -> None:
    workshop.database.statements.clear()

    deliver(workshop)

    assert workshop.database.statements == STATEMENTS


def attempt(workshop: Any) -> str:
    try:
        return "reported" if len(deliver(workshop).failed) == len(BATCH) else "done"
    except (SystemExit, ZeroDivisionError):
        return "killed"


#: Made again each time: an error that is kept keeps its frames, and they keep a socket that nobody closes.
FAULTS: dict[str, Callable[[], BaseException]] = {
    "transient": lambda: TransientStoreError("gone"),
    "killed": lambda: SystemExit(1),
    "unforeseen": ZeroDivisionError,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_statement_leaves_nothing_and_the_retry_succeeds(workshop: Any, store: Any, fault: str) -> None:
    before = state(store.rows)
    # A begin that fails on an old connection is tried once more on a new one, so that nobody sees it.
    first = 2 if fault == "transient" else 1
    places = [(number, done) for number in range(first, len(STATEMENTS) + 1) for done in (False, True)]

    for number, done in places[:-1]:
        workshop.database.fail_at(number, FAULTS[fault](), done=done)
        assert attempt(workshop) == ("reported" if fault == "transient" else "killed"), (number, done)
        assert state(store.rows) == before, (number, done)

    assert attempt(workshop) == "done"
    assert state(store.rows) != before


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_after_the_commit_is_repeated_without_effect(workshop: Any, store: Any, fault: str) -> None:
    workshop.database.fail_at(len(STATEMENTS), FAULTS[fault](), done=True)
    attempt(workshop)
    after = state(store.rows)

    assert attempt(workshop) == "done"

    assert len(after["email_events"]) == 4
    assert state(store.rows) == after


def test_a_killed_connection_fails_the_batch_and_the_next_invocation_works(
    pipeline: Pipeline, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.post("main", [raw("a")])
    pipeline.deliver()
    pipeline.post("main", [raw("b")])
    [body] = pipeline.waiting()
    run = Database.run

    def killed_at_the_fold(self: Database, name: str, parameters: Any) -> Any:
        if name == "fold":
            kill_process(store)
        return run(self, name, parameters)

    with monkeypatch.context() as faulty:
        faulty.setattr(Database, "run", killed_at_the_fold)
        failed = pipeline.deliver([body])
    left = store.value("select count(*) from email_events")

    assert (failed, left) == (1, 1)
    assert pipeline.deliver([body]) == 0
    assert store.value("select count(*) from email_events") == 2


def test_a_connection_that_died_between_invocations_costs_nothing(pipeline: Pipeline, store: Any) -> None:
    pipeline.post("main", [raw("a")])
    pipeline.deliver()
    kill_process(store)
    pipeline.post("main", [raw("b")])

    assert pipeline.deliver() == 0
    assert store.value("select count(*) from email_events") == 2


def test_a_database_that_is_gone_fails_the_batch_and_quarantines_nothing(
    workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionRefusedError

    workshop.database.close()
    with monkeypatch.context() as gone:
        gone.setattr("socket.create_connection", unreachable)
        outcomes = [workshop.process(record(SEEN, receive_count=count)) for count in (1, 5, 50)]

    assert [len(outcome.failed) for outcome in outcomes] == [1, 1, 1]
    assert deliver(workshop).failed == []
    assert store.value("select count(*) from dead_letters where kind not in ('conflict', 'unparseable')") == 1


def kill_process(store: Any) -> None:
    killed = store.rows(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and usename = 'mailfold_process'"
    )
    assert killed == [[True]]
