"""Work in a child process: whatever becomes of the child, the parent learns it in time and nothing is left behind."""

import faulthandler
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mailfold import isolation
from mailfold.isolation import Ending, run_in_child


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


def wait_for_ever(_: object) -> None:
    threading.Event().wait(600)


def test_results_may_be_larger_than_a_pipe_holds() -> None:
    report = run_in_child(lambda size: "x" * size, [3_000_000, 1, 3_000_000], seconds=60)

    assert [len(result) for result in report.results] == [3_000_000, 1, 3_000_000]
    assert (report.ending, report.exit_code) == (Ending.FINISHED, 0)


def test_a_death_is_seen_although_a_child_of_the_child_lives_on() -> None:
    """It holds the end of the pipe, whose closing would tell."""
    ours, theirs = os.pipe()

    def leave_a_child(_: object) -> None:
        if os.fork() == 0:
            os.close(theirs)
            os.read(ours, 1)
            os._exit(0)
        os._exit(3)

    report = run_in_child(leave_a_child, [None], seconds=20)
    os.close(theirs)
    os.close(ours)

    assert (report.ending, report.exit_code) == (Ending.DIED, 3)


def test_the_results_before_a_death_are_kept() -> None:
    report = run_in_child(lambda number: os._exit(7) if number == 2 else number, [0, 1, 2, 3], seconds=20)

    assert (report.results, report.ending, report.exit_code) == ([0, 1], Ending.DIED, 7)


def test_a_task_that_takes_longer_than_a_task_may_is_stuck_and_one_that_the_parent_has_no_time_for_is_not() -> None:
    stuck = run_in_child(wait_for_ever, [None], seconds=20, seconds_each=0.2)
    late = run_in_child(wait_for_ever, [None], seconds=0.2, seconds_each=20)

    assert (stuck.ending.name, late.ending.name) == ("STUCK", "OUT_OF_TIME")


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_child_that_is_asked_to_stop_has_not_died(stop: signal.Signals) -> None:
    """Also where the parent answers such a signal in its own way: the child does not."""
    before = signal.signal(stop, lambda *_: None)
    try:
        report = run_in_child(lambda _: (os.kill(os.getpid(), stop), wait_for_ever(None)), [None], seconds=20)
    finally:
        signal.signal(stop, before)

    assert report.ending.name == "STOPPED"


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_child_that_is_killed_has_died(kill: signal.Signals) -> None:
    def die(_: object) -> None:
        faulthandler.disable()
        os.kill(os.getpid(), kill)
        wait_for_ever(None)

    report = run_in_child(die, [None], seconds=20)

    assert (report.ending, report.exit_code) == (Ending.DIED, -kill)


def test_a_child_that_cannot_be_started_has_not_died(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr("multiprocessing.context.ForkProcess.start", refuse)

    report = run_in_child(lambda task: task, [1], seconds=20)

    assert (report.results, report.ending.name) == ([], "STOPPED")


def test_no_child_is_left_when_the_parent_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(isolation, "_collect", lambda *_, **__: interrupt())

    with pytest.raises(KeyboardInterrupt):
        run_in_child(wait_for_ever, [None], seconds=20)


def test_memory_without_end_is_a_death_of_its_own_kind() -> None:
    def hoard(_: object) -> None:
        kept = [bytearray(2**26)]
        while True:
            kept.append(bytearray(2**26))

    report = run_in_child(hoard, [None], seconds=60)

    assert (report.ending, report.exit_code) == (Ending.DIED, isolation.OUT_OF_MEMORY)
