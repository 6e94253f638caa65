"""mailfold suppressions, at a pretended stack."""

import ast
import csv
import io
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli import __main__ as cli
from cli.errors import CommandError
from cli.suppression_exports import EXPORTS

Answers = dict[str, Callable[[dict[str, Any]], dict[str, Any]]]


class FakePlace:
    """Answers orders from a table and remembers them."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.orders: list[tuple[str, dict[str, Any]]] = []

    def order(self, command: str, **arguments: Any) -> dict[str, Any]:
        given = {name: value for name, value in arguments.items() if value is not None}
        self.orders.append((command, given))
        return self._answers[command](given)

    def given(self, command: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.orders if name == command]


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


Run = Callable[..., tuple[int, FakePlace]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def run_it(*argv: str, answers: Answers, typed: str | None = None) -> tuple[int, FakePlace]:
        place = FakePlace(answers)
        monkeypatch.setattr(cli, "_place", lambda arguments: place)
        monkeypatch.setattr("sys.stdin", io.StringIO() if typed is None else Terminal(typed))
        return cli.main(argv), place

    return run_it


def stop(address: str, scope: str = "", reason: str = "bounced", **given: Any) -> dict[str, Any]:
    at = "2025-06-01T00:00:00+00:00"
    row = {
        "address": address,
        "scope": scope,
        "reason": reason,
        "suppressed": True,
        "since": at,
        "last_suppress_at": at,
    }
    return {**row, "detail": "550", **given}


def pages(*found: list[dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def answer(given: dict[str, Any]) -> dict[str, Any]:
        number = int(given["after"][0]) if "after" in given else 0
        after = [str(number + 1), ""] if number + 1 < len(found) else None
        return {"suppressions": found[number], "next": after, "total": sum(map(len, found))}

    return answer


IMPORT: Answers = {
    "suppressions.import": lambda given: {"rows": len(given["rows"]), "new": len(given["rows"]), "known": 0}
}


def decided(suppressed: bool) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda given: {
        "address": given["address"],
        "scope": given["scope"],
        "suppressions": [{"scope": given["scope"], "suppressed": suppressed}],
    }


EXPLAINED = {
    "address": "ann@example.com",
    "may_be_mailed": False,
    "scopes": [
        {
            "scope": "",
            "erased": False,
            "suppressed": True,
            "rule": "hard_bounce",
            "because": "a hard bounce",
            "since": "2026-01-01",
            "first_suppress": {"event_id": "e1"},
            "last_suppress": {"event_id": "e1"},
            "soft_suppress": None,
            "manual": None,
            "lifted": None,
        }
    ],
    "events": [],
    "decisions": [],
}


def test_the_list_goes_through_the_pages(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    code, place = run(
        "suppressions", "list", "--json", answers={"suppressions.list": pages([stop("a@x.org")], [stop("b@x.org")])}
    )

    told = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [row["address"] for row in told["suppressions"]] == ["a@x.org", "b@x.org"]
    assert place.orders[0][1] == {"active": True}


def test_a_long_list_is_cut_and_says_so(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("suppressions", "list", "--most", "1", answers={"suppressions.list": pages([stop("a@x.org"), stop("b@x.org")])})

    told = capsys.readouterr()
    assert "b@x.org" not in told.out
    assert "more than 1" in told.err


@pytest.mark.parametrize(("typed", "lifted"), [("yes\n", True), ("no\n", False), ("", False), (None, False)])
def test_a_lift_shows_what_stops_and_asks(
    run: Run, capsys: pytest.CaptureFixture[str], typed: str | None, lifted: bool
) -> None:
    answers: Answers = {"suppressions.explain": lambda _: EXPLAINED, "suppressions.lift": decided(False)}

    code, place = run("suppressions", "lift", "ann@example.com", "--reason", "r", answers=answers, typed=typed)

    assert "it is stopped: a hard bounce" in capsys.readouterr().err
    assert bool(place.given("suppressions.lift")) is lifted
    assert code == (0 if lifted else 2)


def test_add_needs_a_reason_and_says_what_holds_now(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("suppressions", "add", "ann@example.com", answers={})

    run("suppressions", "add", "ann@example.com", "--reason", "r", answers={"suppressions.add": decided(True)})

    assert "ann@example.com must not be mailed" in capsys.readouterr().out


def test_an_explanation_is_shown_in_words(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("suppressions", "explain", "ann@example.com", answers={"suppressions.explain": lambda _: EXPLAINED})

    shown = capsys.readouterr().out
    assert "must not be mailed" in shown
    assert "a hard bounce" in shown
    assert "manually  " not in shown


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "list.csv"
    rows = "".join(f"{number}@example.com,1748736000\n" for number in range(1_100))
    path.write_text(f"email,created\n{rows}")
    return path


def test_an_import_is_foreseen_then_done_page_by_page(run: Run, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, place = run("suppressions", "import", str(file), "--json", answers=IMPORT, typed="yes\n")

    sent = [(given["apply"], len(given["rows"])) for given in place.given("suppressions.import")]
    told = json.loads(capsys.readouterr().out)
    assert sent == [(False, 500), (False, 500), (False, 100), (True, 500), (True, 500), (True, 100)]
    assert (code, told["rows"], told["imported"], told["format"]) == (0, 1_100, 1_100, "sendgrid-unsubscribes")


def test_an_import_that_is_not_confirmed_only_looked(run: Run, file: Path) -> None:
    code, place = run("suppressions", "import", str(file), answers=IMPORT, typed="no\n")

    assert code == 2
    assert not any(given["apply"] for given in place.given("suppressions.import"))


def test_a_file_with_bad_rows_is_refused_before_anything_is_asked(
    run: Run, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("email,created\nnobody,1748736000\nann@example.com,1748736000\n")

    refused, untouched = run("suppressions", "import", str(file), "--yes", answers=IMPORT)
    told = capsys.readouterr().err
    skipped, place = run("suppressions", "import", str(file), "--yes", "--skip-bad", answers=IMPORT)

    assert "line 2: 'nobody' is no address" in told
    assert (refused, untouched.orders) == (2, [])
    assert skipped == 1
    assert [row["address"] for row in place.given("suppressions.import")[-1]["rows"]] == ["ann@example.com"]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "mailfold",
            [
                "address,scope,reason,since,last_suppress_at,detail",
                "a@x.org,,bounced,2025-06-01T00:00:00+00:00,2025-06-01T00:00:00+00:00,550",
                "'+b@x.org,,complained,2025-06-01T00:00:00+00:00,2025-06-01T00:00:00+00:00,'=1+1",
                "c@x.org,tag:news,unsubscribed,2025-06-01T00:00:00+00:00,2025-06-01T00:00:00+00:00,550",
                "erased:00,,manual,2025-06-01T00:00:00+00:00,2025-06-01T00:00:00+00:00,550",
            ],
        ),
        ("sendgrid", ["email", "a@x.org", "+b@x.org"]),
        ("ses", ["a@x.org,BOUNCE", "+b@x.org,COMPLAINT"]),
        (
            "mailgun-bounces",
            ["address,code,error,created_at", 'a@x.org,550,550,"Sun, 01 Jun 2025 00:00:00 +0000"'],
        ),
        ("mailgun-complaints", ["address,created_at", '+b@x.org,"Sun, 01 Jun 2025 00:00:00 +0000"']),
        (
            "mailgun-unsubscribes",
            ["address,tags,created_at", 'c@x.org,news,"Sun, 01 Jun 2025 00:00:00 +0000"'],
        ),
    ],
)
def test_each_export_is_what_its_reader_takes(
    run: Run, capsys: pytest.CaptureFixture[str], name: str, lines: list[str]
) -> None:
    first = [stop("a@x.org"), stop("+b@x.org", reason="complained", detail="=1+1")]
    second = [stop("c@x.org", scope="tag:news", reason="unsubscribed"), stop("erased:00", reason="manual")]

    code, _ = run("suppressions", "export", "--format", name, answers={"suppressions.export": pages(first, second)})

    told = capsys.readouterr()
    assert code == 0
    assert told.out.splitlines() == lines
    assert ("have no place" in told.err) is (name != "mailfold")


@pytest.mark.parametrize("name", sorted(EXPORTS))
@pytest.mark.parametrize(
    "address", ["=cmd|calc@x.example", "@sum@x.example", "+cmd|calc!a1@x.example", "=1+1@x.example"]
)
@pytest.mark.parametrize("reason", ["bounced", "complained", "unsubscribed"])
def test_no_export_holds_a_cell_that_calculates(
    run: Run, capsys: pytest.CaptureFixture[str], name: str, address: str, reason: str
) -> None:
    rows = [
        stop(address, reason=reason),
        stop("a@x.org", reason=reason, scope="tag:=cmd|calc"),
        stop("b@x.org", reason=reason),
    ]

    code, _ = run("suppressions", "export", "--format", name, answers={"suppressions.export": pages(rows)})

    told = capsys.readouterr()
    cells = [cell for line in csv.reader(told.out.splitlines()) for cell in line]
    assert code == 0
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+cmd"))]
    # What is written is what the provider must get.
    assert (address in cells) is False
    if name != "mailfold" and "b@x.org" in cells:
        assert "would calculate" in told.err


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_a_file_with_addresses_is_readable_by_its_owner_alone_from_the_start(
    run: Run, tmp_path: Path, umask: int
) -> None:
    path = tmp_path / "stops.csv"
    modes: list[int] = []

    def answer(_: dict[str, Any]) -> dict[str, Any]:
        modes.append(stat.S_IMODE(path.stat().st_mode))
        return {"total": 1, "suppressions": [stop("a@x.org")], "next": None}

    before = os.umask(umask)
    try:
        code, _ = run("suppressions", "export", "--output", str(path), answers={"suppressions.export": answer})
    finally:
        os.umask(before)

    assert code == 0
    assert modes == [0o600]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_export_does_not_follow_a_link(run: Run, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    code, _ = run(
        "suppressions", "export", "--output", str(tmp_path / "link"), answers={"suppressions.export": pages([])}
    )

    assert code == 2
    assert not (tmp_path / "elsewhere").exists()


def test_every_file_that_the_command_line_writes_is_private() -> None:
    writes = {
        "write_text",
        "write_bytes",
        "open",
        "fdopen",
        "mkstemp",
        "NamedTemporaryFile",
        "copy",
        "copyfile",
        "touch",
    }
    found = set()
    for path in Path(cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in writes:
                    found.add((path.name, name))

    # The entry point opens /dev/null, and the lock of the local stack is only read.
    assert found - {("__main__.py", "open"), ("local_stack.py", "open")} == {
        ("files.py", "open"),
        ("files.py", "fdopen"),
    }


def test_an_export_does_not_overwrite_a_file(run: Run, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = file.read_bytes()

    code, _ = run("suppressions", "export", "--output", str(file), answers={"suppressions.export": pages([])})

    assert code == 2
    assert file.read_bytes() == before


def test_a_stack_that_declines_ends_the_command(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    def decline(_: dict[str, Any]) -> dict[str, Any]:
        raise CommandError("nothing stops this address", 3)

    code, _ = run("suppressions", "lift", "a@x.org", "--reason", "r", "--yes", answers={"suppressions.lift": decline})

    assert code == 3
    assert "nothing stops this address" in capsys.readouterr().err
