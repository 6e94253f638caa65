"""mailfold dead-letters: tried first, done when a person says so, never faster than it may."""

import io
import json
from typing import Any

import pytest

import cli.__main__ as command
from cli import pace as pacing
from cli.errors import CommandError, TryAgain
from cli.pace import ATTEMPTS, BACKLOG, Pace
from tests.support.deadqueue import FakePlace, FakeQueues, FakeTime, dead_letters

GROUPS = {
    "groups": [{"group_id": "g1", "dead_letters": 250}, {"group_id": "g2", "dead_letters": 7}],
    "dead_letters": 257,
}


class Terminal(io.StringIO):
    """Somebody who answers."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    clock = FakeTime()
    monkeypatch.setattr(Pace, "__init__", paced(Pace.__init__, clock))
    return clock


def paced(make: Any, clock: FakeTime) -> Any:
    return lambda self, **arguments: make(self, **{"clock": clock, "sleep": clock.sleep, **arguments})


def run(monkeypatch: pytest.MonkeyPatch, place: FakePlace, *words: str) -> int:
    monkeypatch.setattr(command, "_place", lambda _: place)
    return command.main(["dead-letters", *words])


def stack(total: int, *, left: int = 0, unproven: int = 0, queues: FakeQueues | None = None) -> FakePlace:
    redrive = dead_letters(total, left=left, unproven=unproven)
    answers = {"dead-letters.groups": lambda: GROUPS, "dead-letters.redrive": redrive}
    return FakePlace(queues or FakeQueues(), answers)


def applied(place: FakePlace) -> list[bool]:
    return [arguments["apply"] for name, arguments in place.orders if name == "dead-letters.redrive"]


def test_without_apply_it_is_only_tried(
    monkeypatch: pytest.MonkeyPatch, clock: FakeTime, capsys: pytest.CaptureFixture[str]
) -> None:
    place = stack(250)

    assert run(monkeypatch, place, "redrive", "--all") == 0

    assert set(applied(place)) == {False}
    assert "250           folded, new" in capsys.readouterr().out


def test_it_is_tried_whole_before_anything_is_done(monkeypatch: pytest.MonkeyPatch, clock: FakeTime) -> None:
    place = stack(250)

    assert run(monkeypatch, place, "redrive", "--group", "g1", "--apply", "--yes") == 0

    # Five pages of dead letters and one that is empty, each time.
    assert applied(place) == [False] * 6 + [True] * 6
    assert {arguments.get("group") for name, arguments in place.orders if name == "dead-letters.redrive"} == {"g1"}


@pytest.mark.parametrize(("answer", "done"), [("y\n", True), ("n\n", False), ("", False)])
def test_a_person_is_asked(monkeypatch: pytest.MonkeyPatch, clock: FakeTime, answer: str, done: bool) -> None:
    place = stack(5)
    monkeypatch.setattr("sys.stdin", Terminal(answer))

    code = run(monkeypatch, place, "redrive", "--all", "--apply")

    assert (code, True in applied(place)) == ((0, True) if done else (2, False))


def test_where_nobody_can_be_asked_nothing_is_done(monkeypatch: pytest.MonkeyPatch, clock: FakeTime) -> None:
    place = stack(5)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))

    assert run(monkeypatch, place, "redrive", "--all", "--apply") == 2
    assert True not in applied(place)


def test_what_is_left_is_told_by_the_exit_code_and_in_json(
    monkeypatch: pytest.MonkeyPatch, clock: FakeTime, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, stack(5, left=2), "redrive", "--all", "--apply", "--yes", "--json") == 1

    told = json.loads(capsys.readouterr().out)
    assert (told["tried"]["left"], told["done"]["new"], told["done"]["left"]) == (2, 3, 2)
    assert told["done"]["reasons"] == [{"source": "main", "kind": "unparseable", "reason": "no id", "dead_letters": 2}]


@pytest.mark.parametrize("words", [["--all"], ["--group", "g1"], ["a1", "a2"]])
def test_how_many_are_left_out_and_why_is_told_before_and_after(
    monkeypatch: pytest.MonkeyPatch, clock: FakeTime, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run(monkeypatch, stack(120, unproven=70), "redrive", *words) == 1
    tried = capsys.readouterr().out
    assert run(monkeypatch, stack(120, unproven=70), "redrive", *words, "--apply", "--yes") == 1
    done = capsys.readouterr().out

    line = "left out: 70; they failed an authenticity check"
    assert (tried.count(line), done.count(line)) == (1, 2)
    assert "50            folded, new" in done


def test_json_tells_how_many_are_left_out(
    monkeypatch: pytest.MonkeyPatch, clock: FakeTime, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, stack(5, unproven=2), "redrive", "--all", "--apply", "--yes", "--json") == 1

    told = json.loads(capsys.readouterr().out)
    assert (told["tried"]["left_out"], told["done"]["left_out"], told["done"]["new"]) == (2, 2, 3)
    assert told["done"]["left_out_reason"] == "they failed an authenticity check"


def test_only_the_flag_asks_for_what_is_unproven(monkeypatch: pytest.MonkeyPatch, clock: FakeTime) -> None:
    place = stack(2, unproven=2)

    assert run(monkeypatch, place, "redrive", "a1", "a2", "--apply", "--yes") == 1
    assert not any("unproven" in arguments for _, arguments in place.orders)
    assert run(monkeypatch, place, "redrive", "a1", "a2", "--unproven", "--apply", "--yes") == 0
    assert place.orders[-1][1]["unproven"] is True


@pytest.mark.parametrize("words", [["--all"], ["--group", "g1"], []])
def test_the_flag_needs_ids(
    monkeypatch: pytest.MonkeyPatch, clock: FakeTime, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    place = stack(5, unproven=5)

    assert run(monkeypatch, place, "redrive", *words, "--unproven", "--apply", "--yes") == 2

    assert place.orders == []
    assert ("--unproven needs ids" in capsys.readouterr().err) == bool(words)


def test_a_person_is_told_what_the_flag_means(
    monkeypatch: pytest.MonkeyPatch, clock: FakeTime, capsys: pytest.CaptureFixture[str]
) -> None:
    place = stack(1, unproven=1)
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))

    assert run(monkeypatch, place, "redrive", "a1", "--unproven", "--apply") == 2

    assert True not in applied(place)
    told = capsys.readouterr()
    assert "anyone who saw one signature could have sent" in told.out + told.err


@pytest.mark.parametrize("words", [[], ["--all", "--group", "g1"], ["a1", "--all"]])
def test_exactly_one_choice_is_asked_for(monkeypatch: pytest.MonkeyPatch, clock: FakeTime, words: list[str]) -> None:
    place = stack(5)

    assert run(monkeypatch, place, "redrive", *words) == 2
    assert place.orders == []


def test_the_rate_is_a_bound(monkeypatch: pytest.MonkeyPatch, clock: FakeTime) -> None:
    began = clock.now

    run(monkeypatch, stack(1_000), "redrive", "--all", "--rate", "50")

    assert clock.now - began >= (1_000 - 50) / 50


def test_it_pauses_while_live_traffic_waits(
    monkeypatch: pytest.MonkeyPatch, clock: FakeTime, capsys: pytest.CaptureFixture[str]
) -> None:
    queues = FakeQueues()
    queues.waiting = [0, BACKLOG + 400, BACKLOG + 200, BACKLOG + 1, BACKLOG, 0]
    place = stack(250, queues=queues)

    assert run(monkeypatch, place, "redrive", "--all", "--rate", "1000000") == 0

    assert clock.naps.count(pacing.PAUSE_SECONDS) == 3
    assert f"{BACKLOG + 400} records of live traffic wait" in capsys.readouterr().err


def test_pages_shrink_while_the_stack_is_busy(monkeypatch: pytest.MonkeyPatch, clock: FakeTime) -> None:
    place = stack(250)
    redrive, busy = place.answers["dead-letters.redrive"], [0.1, 0.9, 0.9, 0.1, 0.1]

    def take_time(**arguments: Any) -> dict[str, Any]:
        clock.now += busy.pop(0) if busy else 0.1
        return redrive(**arguments)

    place.answers["dead-letters.redrive"] = take_time

    assert run(monkeypatch, place, "redrive", "--all") == 0

    sizes = [arguments["most"] for name, arguments in place.orders if name == "dead-letters.redrive"]
    assert sizes[:6] == [50, 50, 25, 12, 24, 48]


def test_an_order_that_may_succeed_later_is_given_again(monkeypatch: pytest.MonkeyPatch, clock: FakeTime) -> None:
    place = stack(5)
    redrive, failures = place.answers["dead-letters.redrive"], [TryAgain("deadlock"), TryAgain("deadlock")]

    def stumble(**arguments: Any) -> dict[str, Any]:
        if failures:
            raise failures.pop()
        return redrive(**arguments)

    place.answers["dead-letters.redrive"] = stumble

    assert run(monkeypatch, place, "redrive", "--all") == 0


def test_it_gives_up_in_the_end(monkeypatch: pytest.MonkeyPatch, clock: FakeTime) -> None:
    place = stack(5)

    def refuse(**_: Any) -> dict[str, Any]:
        raise TryAgain("the database is away", 3)

    place.answers["dead-letters.redrive"] = refuse

    assert run(monkeypatch, place, "redrive", "--all") == 3
    assert len(applied(place)) == ATTEMPTS


def test_a_run_that_breaks_off_says_what_stays(
    monkeypatch: pytest.MonkeyPatch, clock: FakeTime, capsys: pytest.CaptureFixture[str]
) -> None:
    place = stack(250)
    redrive = place.answers["dead-letters.redrive"]

    def break_off(**arguments: Any) -> dict[str, Any]:
        if arguments["apply"] and "cursor" in arguments:
            raise CommandError("operate failed")
        return redrive(**arguments)

    place.answers["dead-letters.redrive"] = break_off

    assert run(monkeypatch, place, "redrive", "--all", "--apply", "--yes") == 2
    assert "stopped after 50 dead letters; what is folded stays folded" in capsys.readouterr().err


def test_groups_a_list_and_one_letter_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dead_letter = {"dead_letter_id": "a1", "group_id": "g1", "reason": "no\x1b[2J id", "unproven": True, "not_kept": 41}
    page = {"dead_letters": [dead_letter], "cursor": "2026-01-01T00:00:00Z a1"}
    answers = {
        "dead-letters.groups": lambda: GROUPS,
        "dead-letters.list": lambda **_: page,
        "dead-letters.show": lambda **_: dead_letter,
    }
    place = FakePlace(FakeQueues(), answers)

    assert [run(monkeypatch, place, *words) for words in ([], ["list", "--group", "g1"], ["show", "a1"])] == [0, 0, 0]

    shown = capsys.readouterr().out
    assert "g2" in shown
    assert "unproven    yes" in shown
    assert "not kept    41" in shown
    assert "--cursor '2026-01-01T00:00:00Z a1'" in shown
    assert "\x1b" not in shown
