"""mailfold erase, at a pretended stack."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from cli import __main__ as cli

ANN = "ann@example.com"


class FakePlace:
    """A stack with some rows that name Ann, on two pages."""

    def __init__(self, *, stubborn: int = 0, forgets: bool = False) -> None:
        self.rows = 3
        self.stubborn = stubborn
        self.forgets = forgets
        self.commands: list[str] = []

    def order(self, command: str, **arguments: Any) -> dict[str, Any]:
        self.commands.append(command)
        if command == "suppressions.explain":
            gone = self.forgets and self.rows == self.stubborn
            return {"scopes": [{"scope": "", "suppressed": not gone}]}
        if arguments["after"] is None:
            counts = {"looked_at": 10, "found": 0, "similar": 1, "changed": 0}
            return {"rows": 20, "tables": {"suppressions": counts}, "next": {"table": "email_events"}}
        found, changed = self.rows, 0
        if command == "erase":
            self.rows, changed = self.stubborn, self.rows - self.stubborn
        counts = {"looked_at": 10, "found": found, "similar": 0, "changed": changed}
        return {"rows": 20, "tables": {"email_events": counts}, "next": None}


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def run_it(place: FakePlace, *argv: str, typed: str | None = None) -> int:
        monkeypatch.setattr(cli, "_place", lambda arguments: place)
        monkeypatch.setattr("sys.stdin", io.StringIO() if typed is None else Terminal(typed))
        return cli.main(["erase", *argv])

    return run_it


def test_without_apply_it_only_counts(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    place = FakePlace()

    code = run(place, ANN)

    assert code == 0
    assert "erase" not in place.commands
    assert "nothing was changed" in capsys.readouterr().out


@pytest.mark.parametrize(("typed", "done"), [(f"{ANN}\n", True), ("yes\n", False), (None, False)])
def test_the_address_itself_confirms_it(run: Run, typed: str | None, done: bool) -> None:
    place = FakePlace()

    code = run(place, " Ann@Example.com", "--apply", typed=typed)

    assert ("erase" in place.commands) is done
    assert code == (0 if done else 2)


def test_the_proof_is_a_table_of_zeroes(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(FakePlace(), ANN, "--apply", "--yes", "--json")

    told = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [(row["table"], row["found"], row["changed"], row["left"]) for row in told["tables"]] == [
        ("suppressions", 0, 0, 0),
        ("email_events", 3, 3, 0),
    ]
    assert (told["left"], told["stops_kept"]) == (0, True)


def test_what_is_left_over_is_a_finding(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(FakePlace(stubborn=1), ANN, "--apply", "--yes")

    told = capsys.readouterr()
    assert code == 1
    assert "still name the address: 1" in told.out
    assert "run it again" in told.err


def test_a_stop_that_is_gone_is_a_finding(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FakePlace(forgets=True), ANN, "--apply", "--yes") == 1
    assert "a stop is gone" in capsys.readouterr().err
