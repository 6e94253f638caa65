"""Records that kill the worker that folds them: neighbours are folded, and the killer is set aside."""

import faulthandler
import importlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from mailfold.errors import TransientStoreError
from mailfold.events import Event, Raw
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.steps.process import DEATHS
from tests.support.records import SOURCES, TOPICS, envelope, raw, record
from tests.support.workers import Worker

EVENTS = "select event_id from email_events order by 1"
DEAD = "select kind, source, raw from dead_letters order by raw"


def burn() -> None:
    """Loop as a C library can: deaf to the timer by which process ends what takes too long."""
    signal.signal(signal.SIGPROF, signal.SIG_IGN)
    while True:
        pass


KILLS: dict[str, Callable[[], object]] = {
    "a signal": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "a crash in a C library": lambda: (faulthandler.disable(), os.kill(os.getpid(), signal.SIGSEGV)),
    "an exit": lambda: os._exit(3),
}


@pytest.fixture
def deadly(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter that kills its process at events that say so."""
    parse = REGISTRY["sesmetric"].parse

    def kill(event: Raw, origin: Origin) -> list[Event]:
        if event.get("kill"):
            KILLS[event["kill"]]()
        return parse(event, origin)

    monkeypatch.setitem(REGISTRY, "sesmetric", replace(REGISTRY["sesmetric"], parse=kill))


@pytest.fixture
def make_worker(store: Any, deadly: None) -> Iterator[Callable[[], Worker]]:
    made: list[Worker] = []

    def make() -> Worker:
        made.append(Worker(store.url("mailfold_process"), SOURCES, TOPICS))
        return made[-1]

    yield make
    for worker in made:
        worker.kill()


def killer(how: str, event_id: str = "killer") -> str:
    return envelope({**raw(event_id), "kill": how})


@pytest.mark.parametrize("how", KILLS)
def test_neighbours_of_a_killer_are_folded_when_they_come_again(
    make_worker: Callable[[], Worker], store: Any, how: str
) -> None:
    bodies = [envelope(raw("a")), killer(how), envelope(raw("b")), envelope(raw("c"))]

    first = make_worker().deliver([record(body, record_id=body) for body in bodies])
    second = make_worker().deliver([record(body, record_id=body, receive_count=2) for body in bodies])

    assert first is None, "the worker lived"
    assert second == []
    assert store.rows(EVENTS) == [["sesmetric:a"], ["sesmetric:b"], ["sesmetric:c"]]
    assert store.rows(DEAD) == [["killed_its_worker", None, bodies[1]]]


@pytest.mark.usefixtures("deadly")
def test_several_killers_are_each_set_aside_with_how_they_killed(workshop: Any, store: Any) -> None:
    bodies = [killer(how, f"k{number}") for number, how in enumerate(KILLS)]

    outcome = workshop.process(
        *[record(body, receive_count=2) for body in bodies],
        record(envelope(raw("again")), receive_count=7),
        record(envelope(raw("fresh"))),
    )

    assert outcome.failed == []
    assert sum(counts.dead for counts in outcome.counts) == len(KILLS)
    assert store.rows(EVENTS) == [["sesmetric:again"], ["sesmetric:fresh"]]
    reasons = [row[0] for row in store.rows("select reason from dead_letters")]
    assert sorted(reason.rpartition(" ")[2] for reason in reasons) == ["-11", "-9", "3"]
    assert all(f"died {DEATHS} times" in reason for reason in reasons)


@pytest.mark.usefixtures("deadly")
def test_an_endless_loop_ends_by_its_processor_time(workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mailfold.isolation.CPU_SECONDS", 1)
    monkeypatch.setattr("mailfold.steps.process.DEATHS", 1)
    monkeypatch.setitem(KILLS, "a loop", burn)

    outcome = workshop.process(record(killer("a loop"), receive_count=2), record(envelope(raw("a")), receive_count=2))

    assert outcome.failed == []
    assert store.rows(EVENTS) == [["sesmetric:a"]]
    assert store.value("select kind from dead_letters") == "killed_its_worker"


def test_a_record_that_came_often_is_folded_with_the_others_in_one_transaction(workshop: Any, store: Any) -> None:
    workshop.process(*[record(envelope(raw(f"e{n}")), receive_count=n) for n in range(2, 40)])

    assert store.value("select count(distinct xmin::text) from email_events") == 1
    assert store.value("select count(*) from email_events") == 38


@pytest.mark.usefixtures("deadly")
def test_a_killer_that_is_killed_in_time_is_given_back_and_not_set_aside(workshop: Any, store: Any) -> None:
    """A worker that had too little time says nothing about its records."""
    outcomes = []
    for remaining in ([10_001], [60_000, 10_001]):
        left = iter([*remaining, *[10_001] * 100])
        workshop.remaining_ms = lambda left=left: next(left)
        outcomes.append(workshop.process(record(killer("a signal"), receive_count=9, record_id="k")))

    assert store.value("select count(*) from dead_letters") == 0
    assert [outcome.failed for outcome in outcomes] == [["k"], ["k"]]


@pytest.mark.usefixtures("deadly")
def test_a_record_that_waits_for_ever_comes_again_and_its_neighbours_are_folded(
    workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It uses no processor time and does not die; that it waits says nothing about it."""
    monkeypatch.setitem(KILLS, "a wait", lambda: threading.Event().wait(600))
    monkeypatch.setattr("mailfold.steps.process.ALONE_SECONDS", 1, raising=False)
    workshop.remaining_ms = lambda: 15_000
    bodies = [envelope(raw("a")), killer("a wait"), envelope(raw("b"))]

    outcomes = [
        workshop.process(*[record(body, receive_count=count, record_id=body) for body in bodies]) for count in (2, 9)
    ]

    assert [outcome.failed for outcome in outcomes] == [[bodies[1]], [bodies[1]]]
    assert store.rows(EVENTS) == [["sesmetric:a"], ["sesmetric:b"]]
    assert store.value("select count(*) from dead_letters") == 0


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.usefixtures("deadly")
def test_a_child_that_is_asked_to_stop_is_no_death(
    workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch, stop: signal.Signals
) -> None:
    monkeypatch.setitem(KILLS, "a stop", lambda: os.kill(os.getpid(), stop))
    monkeypatch.setattr("mailfold.steps.process.DEATHS", 1)

    alone = workshop.process(record(killer("a stop"), receive_count=2, record_id="k"))
    beside = workshop.process(
        record(killer("a stop"), receive_count=2, record_id="k"),
        record(envelope(raw("a")), receive_count=2, record_id="a"),
    )

    assert (alone.failed, beside.failed) == (["k"], ["k", "a"])
    assert store.value("select count(*) from dead_letters") == 0


@pytest.mark.usefixtures("deadly")
def test_what_takes_memory_without_end_dies_by_itself(
    workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hoard(*_: object, **__: object) -> None:
        kept = [bytearray(2**26)]
        while True:
            kept.append(bytearray(2**26))

    fold = "mailfold.store.batch.fold"
    plain = importlib.import_module("mailfold.store.batch").fold
    monkeypatch.setattr(
        fold, lambda tx, events, **how: hoard() if any(":k" in e.event_id for e in events) else plain(tx, events, **how)
    )

    outcome = workshop.process(
        record(envelope(raw("k1")), receive_count=2), record(envelope(raw("a")), receive_count=2)
    )

    assert outcome.failed == []
    assert store.rows(EVENTS) == [["sesmetric:a"]]
    assert store.value("select reason like '%exit code 12' from dead_letters")


def test_an_error_that_the_step_does_not_know_fails_only_its_own_record(
    workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("mailfold.steps.unit.classify", fail)

    outcome = workshop.process(*[record(envelope(raw(f"e{n}")), receive_count=2, record_id=str(n)) for n in range(3)])

    assert outcome.failed == ["0", "1", "2"]
    assert store.value("select count(*) from dead_letters") == 0


def test_a_database_that_is_away_makes_nothing_suspect(
    workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise TransientStoreError("away")

    bodies = [envelope(raw(f"e{n}")) for n in range(5)]
    with monkeypatch.context() as patched:
        patched.setattr("mailfold.store.connection._connect", away)
        failures = [
            len(workshop.process(*[record(body, receive_count=count) for body in bodies]).failed)
            for count in range(2, 30)
        ]
    workshop.process(*[record(body, receive_count=30) for body in bodies])

    assert failures == [5] * 28
    assert store.value("select count(*) from dead_letters") == 0
    assert store.value("select count(distinct xmin::text) from email_events") == 1


def test_the_raw_of_a_killer_is_the_record_as_it_came(workshop: Any, store: Any, deadly: None) -> None:
    body = killer("an exit")

    workshop.process(record(body, receive_count=2))

    assert json.loads(store.value("select raw from dead_letters")) == json.loads(body)


def test_a_redrive_of_all_leaves_out_what_killed_its_worker(
    workshop: Any, store: Any, order: Any, monkeypatch: pytest.MonkeyPatch, deadly: None
) -> None:
    workshop.process(record(killer("an exit"), receive_count=2), record(envelope({"type": "no id"}), receive_count=2))
    [[group]] = store.rows("select group_id from dead_letters where kind = 'killed_its_worker'")
    monkeypatch.setitem(KILLS, "an exit", lambda: None)

    redriven = order("dead-letters.redrive", all=True, apply=True)
    kinds = store.rows("select kind from dead_letters order by 1")
    by_group = order("dead-letters.redrive", group=group, apply=True)

    assert (redriven["dead_letters"], redriven["left_out"]) == (1, 1)
    assert "by their group or id" in redriven["left_out_reason"]
    assert kinds == [["killed_its_worker"], ["unparseable"]]
    assert (by_group["new"], by_group["left_out"]) == (1, 0)
    assert store.rows(EVENTS) == [["sesmetric:killer"]]
