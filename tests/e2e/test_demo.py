"""`make demo` against the running stack: exactly once, also while processes are being killed."""

import json
from typing import Any

from cli.local_stack import Stack
from tests.e2e.support import LocalRun

KILLS = 20


def demo(running: LocalRun, *arguments: str) -> tuple[int, dict[str, Any]]:
    status, words = running.call("local.demo", "--json", *arguments)
    return status, json.loads(words.splitlines()[-1])


def test_the_demo_is_exactly_once(running: LocalRun, stack: Stack) -> None:
    status, outcome = demo(running, "--events", "500")

    assert status == 0
    assert {line["source"] for line in outcome["lines"]} == stack.sources.keys()
    for line in outcome["lines"]:
        assert line["stored"] == line["sent"] > 0
        assert line["absorbed"] == line["copies"] > 0
        assert line["refused"] == line["forged"]
        assert (line["lost"], line["doubled"], line["accepted"], line["dead"]) == (0, 0, 0, 0)


def test_the_demo_is_exactly_once_while_processes_are_killed(running: LocalRun) -> None:
    before = open_transactions(running)

    status, outcome = demo(running, "--events", "1500", "--kill", str(KILLS), "--seed", "2")

    assert (status, outcome["clean"]) == (0, True)
    assert outcome["killed"] == KILLS
    assert outcome["killed_in_transaction"] > 0
    # The server's own word that sessions were cut off in the middle, and not between two batches.
    assert open_transactions(running) - before > 0


def open_transactions(running: LocalRun) -> int:
    return (running.state / "logs/postgres.log").read_text().count("connection with an open transaction")


def test_without_a_stack_it_says_so(tmp_path: Any) -> None:
    status, words = LocalRun(tmp_path / "nowhere").call("local.demo")

    assert status == 1
    assert "make run" in words
    assert "Traceback" not in words
