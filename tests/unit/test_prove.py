"""`make prove` runs every part that is asked for, and fails when one of them does."""

import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from tests import prove


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The programs that were run, with their options; that of `kills` fails. No local stack is started."""
    programs: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[:2] == [sys.executable, "-m"]
        programs.append(command[2:])
        return subprocess.CompletedProcess(command, returncode=int(command[2] == prove.PARTS["kills"].module))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(prove.LocalRun, "start", lambda run: None)
    monkeypatch.setattr(prove.LocalRun, "end", lambda run, number: 0)
    return programs


def test_without_a_name_every_part_runs_although_one_of_them_fails(ran: list[list[str]]) -> None:
    assert prove.main([]) == 1

    assert ran == [[part.module] for part in prove.PARTS.values()]


def test_a_named_part_runs_alone_with_its_options(ran: list[list[str]]) -> None:
    assert prove.main(["publish", "--kills", "3"]) == 0

    assert ran == [["tests.chaos.publish", "--kills", "3"]]


def test_the_failure_of_a_part_is_told(ran: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert prove.main(["histories", "kills"]) == 1

    assert "failed: kills" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["nothing"], ["kills", "prune", "--seed", "1"], ["--seed", "1"]])
def test_what_cannot_be_meant_is_refused(ran: list[list[str]], wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as told:
        prove.main(wrong)

    assert told.value.code == 2
    assert ran == []


@pytest.mark.parametrize("name", prove.PARTS)
def test_each_part_is_a_program_of_ours(name: str) -> None:
    found = find_spec(prove.PARTS[name].module)

    assert found
    assert found.origin
    assert found.origin.startswith(str(prove.ROOT))
