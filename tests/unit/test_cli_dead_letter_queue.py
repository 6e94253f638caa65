"""mailfold dead-letters queue: a record leaves the dead-letter queue only when it is safely on the other one."""

import json
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

import cli.__main__ as command
from cli.dead_letter_queue import MOST_WAITING
from cli.errors import CommandError
from cli.pace import PAUSE_SECONDS, Pace
from tests.support.deadqueue import FakePlace, FakeQueues, FakeTime

AWAY = EndpointConnectionError(endpoint_url="https://sqs")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    clock = FakeTime()
    make = Pace.__init__
    monkeypatch.setattr(
        Pace, "__init__", lambda self, **given: make(self, **{"clock": clock, "sleep": clock.sleep, **given})
    )
    return clock


def try_bodies(bodies: list[str]) -> dict[str, Any]:
    """Answer as operate would: a body that begins with `bad` is refused; its source stands behind the colon."""
    return {
        "records": [
            {
                "result": "left" if body.startswith("bad") else "new",
                "source": None if body.startswith("bad") else body.partition(":")[2] or "main",
                "kind": "not_an_envelope" if body.startswith("bad") else "",
                "reason": "the body is not JSON" if body.startswith("bad") else "",
            }
            for body in bodies
        ]
    }


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def give(queues: FakeQueues, *words: str, answer: Any = try_bodies) -> tuple[int, Any]:
        place = FakePlace(queues, {"dead-letters.try": answer})
        monkeypatch.setattr(command, "_place", lambda _: place)
        code = command.main(["dead-letters", "queue", *words, "--json"])
        out = capsys.readouterr().out
        return code, json.loads(out) if out else None

    return give


def test_a_list_groups_the_records_and_leaves_them_where_they_are(run: Any) -> None:
    queues = FakeQueues("a", "b", "bad1", "bad2", "bad3")
    queues.topic_dead = {"t1": "notification:ses"}

    code, told = run(queues, "list")

    assert code == 0
    assert told["outcomes"] == {"would be sent": 3, "left": 3}
    assert {(row["queue"], row["source"], row["kind"], row["records"]) for row in told["rows"]} == {
        ("records", "main", "", 2),
        ("records", None, "not_an_envelope", 3),
        ("topic", "ses", "", 1),
    }
    assert (len(queues.dead), len(queues.topic_dead), queues.main, queues.hidden) == (5, 1, [], set())


def test_without_apply_nothing_moves(run: Any) -> None:
    queues = FakeQueues("a", "b")

    code, told = run(queues, "redrive")

    assert (code, told["done"]) == (0, None)
    assert (len(queues.dead), queues.main, queues.hidden) == (2, [], set())


def test_what_would_be_folded_goes_back_and_the_rest_stays(run: Any) -> None:
    queues = FakeQueues(*[f"{number}" for number in range(25)], "bad")
    queues.topic_dead = {"t1": "notification:ses"}

    code, told = run(queues, "redrive", "--apply", "--yes")

    assert code == 1
    assert told["done"]["outcomes"] == {"sent": 26, "left": 1}
    assert sorted(queues.main) == sorted([*(f"{number}" for number in range(25)), "notification:ses"])
    assert (list(queues.dead.values()), queues.topic_dead, queues.hidden) == (["bad"], {}, set())


def test_only_one_source_and_only_one_queue(run: Any) -> None:
    queues = FakeQueues("a:x", "b:y", "c:x")
    queues.topic_dead = {"t1": "d:x"}

    code, told = run(queues, "redrive", "--source", "x", "--of", "records", "--apply", "--yes")

    assert (code, told["done"]["outcomes"]) == (0, {"sent": 2, "of another source": 1})
    assert (sorted(queues.main), list(queues.dead.values()), len(queues.topic_dead)) == (["a:x", "c:x"], ["b:y"], 1)
    assert queues.hidden == set()


def test_no_more_than_asked_for(run: Any) -> None:
    queues = FakeQueues(*[f"{number}" for number in range(40)])

    run(queues, "redrive", "--of", "records", "--most", "15", "--apply", "--yes")

    assert (len(queues.main), len(queues.dead)) == (15, 25)


def test_a_record_that_the_queue_refuses_stays(run: Any) -> None:
    queues = FakeQueues("a", "b", "c")
    queues.refuses = lambda body: body == "b"

    code, told = run(queues, "redrive", "--apply", "--yes")

    assert (code, told["done"]["outcomes"]) == (1, {"sent": 2, "not sent": 1})
    assert (queues.main, list(queues.dead.values()), queues.hidden) == (["a", "c"], ["b"], set())


def test_nothing_is_deleted_where_the_queue_does_not_answer(run: Any) -> None:
    queues = FakeQueues("a", "b")
    queues.crash["send"] = AWAY

    code, _ = run(queues, "redrive", "--apply", "--yes")

    assert code == 2
    assert "delete" not in queues.calls
    assert (len(queues.dead), queues.hidden) == (2, set())


@pytest.mark.parametrize("crash", [AWAY, KeyboardInterrupt()])
def test_a_crash_between_sending_and_deleting_only_makes_copies(run: Any, crash: BaseException) -> None:
    queues = FakeQueues("a", "b")
    queues.crash["delete"] = crash

    assert run(queues, "redrive", "--apply", "--yes")[0] == 2
    assert (queues.main, sorted(queues.dead.values()), queues.hidden) == (["a", "b"], ["a", "b"], set())

    queues.crash.clear()
    assert run(queues, "redrive", "--apply", "--yes")[0] == 0
    assert (queues.main, queues.dead) == (["a", "b", "a", "b"], {})


def test_a_record_that_cannot_be_deleted_is_told(run: Any) -> None:
    queues = FakeQueues("a", "b")
    queues.sticky = {"r1"}

    code, told = run(queues, "redrive", "--of", "records", "--apply", "--yes")

    assert (code, told["done"]["outcomes"]) == (1, {"sent": 1, "copied": 1})
    assert queues.hidden == set()


def test_it_keeps_behind_live_traffic_and_below_its_rate(run: Any, clock: FakeTime) -> None:
    queues = FakeQueues(*[f"{number}" for number in range(40)])
    queues.waiting = [MOST_WAITING + 1, MOST_WAITING + 1, 0]
    began = clock.now

    run(queues, "redrive", "--rate", "10")

    assert clock.naps[:2] == [PAUSE_SECONDS, PAUSE_SECONDS]
    assert clock.now - began >= 4


def test_a_record_that_operate_cannot_bear_stays_and_the_others_go(run: Any) -> None:
    queues = FakeQueues("a", "killer", "c")

    def answer(bodies: list[str]) -> dict[str, Any]:
        if "killer" in bodies:
            raise CommandError("operate failed: out of memory")
        return try_bodies(bodies)

    code, told = run(queues, "redrive", "--of", "records", "--apply", "--yes", answer=answer)

    assert (code, told["done"]["outcomes"]) == (1, {"sent": 2, "left": 1})
    assert list(queues.dead.values()) == ["killer"]


def test_large_records_are_tried_and_sent_apart(run: Any) -> None:
    queues = FakeQueues(*[f"{number}{'x' * 700_000}" for number in range(5)])
    sizes = []

    def answer(bodies: list[str]) -> dict[str, Any]:
        sizes.append(sum(map(len, bodies)))
        return try_bodies(bodies)

    run(queues, "redrive", "--of", "records", "--apply", "--yes", answer=answer)

    assert max(sizes) <= 2_000_000
    assert queues.calls.count("send") == 5
    assert queues.dead == {}


def test_who_may_not_call_operate_touches_no_record(run: Any) -> None:
    queues = FakeQueues("a")

    def answer(bodies: list[str]) -> dict[str, Any]:
        raise CommandError("operate could not be called")

    assert run(queues, "list", answer=answer)[0] == 2
    assert queues.calls == []
