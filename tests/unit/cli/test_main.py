"""bin/mailfold itself: what it takes, how it ends, and what it says when it cannot go on."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

import cli.__main__ as program
from cli.errors import DECLINED, CommandError
from cli.place import Place

ORDERED = {"totals": [{"day": "2026-01-01", "source": "main", "type": "delivered", "bounce_class": None, "events": 1}]}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every order that reaches a stack, which answers all of them alike."""
    orders: list[Any] = []

    class Answering(Place):
        def order(self, command: str, **arguments: Any) -> dict[str, Any]:
            orders.append((command, arguments))
            return ORDERED

    monkeypatch.setattr(program, "_place", lambda arguments: Answering(client=_nobody, outputs={}, by="test"))
    return orders


def _nobody(service: str) -> Any:
    raise AssertionError(f"{service} must not be asked")


def failing(error: BaseException) -> Callable[[argparse.Namespace], Place]:
    def place(arguments: argparse.Namespace) -> Place:
        raise error

    return place


@pytest.mark.parametrize("arguments", [["--json", "totals"], ["totals", "--json"], ["totals", "--days", "3", "--json"]])
def test_json_may_stand_before_and_behind_the_command(
    asked: list[Any], capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert program.main(arguments) == 0

    assert capsys.readouterr().out.startswith("{")


def test_without_json_it_is_a_table(asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["totals"]) == 0

    assert capsys.readouterr().out.splitlines()[0].split() == ["day", "source", "type", "class", "events"]
    assert asked == [("totals", {"days": 30})]


@pytest.mark.parametrize(
    "arguments",
    [["totals", "--profile", "prod", "--stack", "Other"], ["--profile", "prod", "--stack", "Other", "totals"]],
)
def test_the_place_may_stand_before_and_behind_the_command(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    asked: list[dict[str, Any]] = []

    def place(**where: Any) -> Place:
        asked.append(where)
        raise CommandError("enough")

    monkeypatch.setattr(program, "aws_place", place)

    assert program.main(arguments) == 2
    assert asked == [{"profile": "prod", "region": None, "stack": "Other"}]


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["totals", "--days", "many"], ["status"], ["secrets", "nonsense"], ["doctor", "--only", "x"]],
)
def test_a_wrong_command_line_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(arguments)

    assert ended.value.code == 2
    assert "usage: mailfold" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (CommandError("no such thing"), 2, "mailfold: no such thing\n"),
        (CommandError("declined", DECLINED), 3, "mailfold: declined\n"),
        (KeyboardInterrupt(), 2, "mailfold: stopped\n"),
        (
            EndpointConnectionError(endpoint_url="https://example.invalid"),
            2,
            'mailfold: AWS did not do it: Could not connect to the endpoint URL: "https://example.invalid"\n',
        ),
        (
            ClientError({"Error": {"Code": "AccessDenied", "Message": "no\x1b[2J\nno"}}, "Put"),
            2,
            "mailfold: AWS did not do it: An error occurred (AccessDenied) when calling the Put operation: no [2J no\n",
        ),
    ],
)
def test_what_goes_wrong_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    sentence: str,
) -> None:
    monkeypatch.setattr(program, "_place", failing(error))

    assert program.main(["totals"]) == code

    assert capsys.readouterr() == ("", sentence)


def test_two_places_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["totals", "--local", "--profile", "prod"]) == 2

    assert "two places" in capsys.readouterr().err


def test_verify_request_needs_no_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(program, "_place", failing(AssertionError("no stack is needed")))
    for name in ("headers", "body", "secret"):
        (tmp_path / name).write_text("{}")
    files = [f"--headers={tmp_path}/headers", f"--body={tmp_path}/body", f"--secret-file={tmp_path}/secret"]

    assert program.main(["verify-request", "--provider", "mailtrap", *files]) == 2
