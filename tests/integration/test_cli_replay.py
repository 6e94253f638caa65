"""mailfold replay, refold and prune: the command line over the real functions."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

import pytest

from cli import __main__ as cli
from cli.place import Place
from local.testing.handlers import Context, load_handler
from tests.integration.conftest import Store, Workshop
from tests.support.misreading import SOFT, every_bounce_hard, everything_other, read_as
from tests.support.records import SOURCES, TOPICS, envelope, raw, record

Run = Callable[..., tuple[int, str, str]]


class Lambda:
    """Calls the real handlers instead of AWS."""

    def __init__(self, functions: dict[str, ModuleType]) -> None:
        self._functions = functions
        #: How much time a function is told to have.
        self.remaining_ms = 900_000

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        answer = self._functions[FunctionName].handler(json.loads(Payload), Context(self.remaining_ms))
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}


@pytest.fixture
def aws(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lambda]:
    """The functions that the commands call."""
    common = {"PUBLISH": "false", "SOFT_LIMIT": "5", "RETENTION": "{}", "TOPICS": json.dumps(TOPICS)}
    common["SOURCES"] = json.dumps({name: {"provider": source.provider} for name, source in SOURCES.items()})
    functions = {
        step: load_handler(step, monkeypatch, {**common, "DATABASE_URL": store.url(f"mailfold_{step}")})
        for step in ("operate", "prune", "sweep")
    }
    yield Lambda(functions)
    for module in functions.values():
        module.database.close()


@pytest.fixture
def run(aws: Lambda, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; return how it ended and what it printed, without what the functions log."""
    outputs = {f"{step.title()}FunctionName": step for step in ("operate", "prune", "sweep")}
    place = Place(client=lambda _: aws, outputs=outputs, by="ann")
    monkeypatch.setattr(cli, "_place", lambda _: place)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(arguments)
        out, err = capsys.readouterr()
        logged = ('{"level"', '{"_aws"')
        return code, "".join(line for line in out.splitlines(True) if not line.startswith(logged)), err

    return run


def soft_read_as_hard(workshop: Workshop) -> None:
    with read_as(every_bounce_hard):
        workshop.process(record(envelope(raw("e1", "bounce", **SOFT), raw("e2"))))


def test_without_apply_it_is_a_dry_run(store: Store, workshop: Workshop, run: Run) -> None:
    soft_read_as_hard(workshop)

    code, out, err = run("replay", "--source", "main")

    assert code == 0
    assert "2 events were read; 1 would be changed" in out
    assert "bounced/hard, suppress  bounced/soft" in out
    assert "statuses: 1 added, 1 removed" in out
    assert "lifted  ann@example.com" in out
    assert "2/2" in err
    assert store.value("select count(*) from suppressed") == 1


def test_applied_it_changes_what_it_showed(store: Store, workshop: Workshop, run: Run) -> None:
    soft_read_as_hard(workshop)

    code, out, _ = run("replay", "--message", "m1", "--apply", "--yes")

    assert code == 0
    assert "2 events were read; 1 were changed" in out
    assert "soft bounces in a row: 0 stopped or moved, 0 released" in out
    assert store.value("select count(*) from suppressed") == 0


def test_nobody_who_agrees_is_nobody_who_changes(
    store: Store, workshop: Workshop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    soft_read_as_hard(workshop)

    code, _, err = run("replay", "--source", "main", "--apply")
    monkeypatch.setattr("sys.stdin", Terminal("no\n"))
    refused, _, _ = run("replay", "--source", "main", "--apply")
    suppressed = store.value("select count(*) from suppressed")
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    run("replay", "--source", "main", "--apply")

    assert (code, refused, suppressed) == (2, 0, 1)
    assert "add --yes" in err
    assert store.value("select count(*) from suppressed") == 0


class Terminal(io.StringIO):
    """A person's keyboard."""

    def isatty(self) -> bool:
        return True


def test_what_cannot_be_read_is_left_over_and_what_is_erased_is_not(store: Store, workshop: Workshop, run: Run) -> None:
    with read_as(everything_other):
        workshop.process(record(envelope(raw("e1", "complaint"), raw("e2", "complaint"))))
    store.rows("update email_events set recipient = 'erased:1' where event_id like '%e1%'")
    erased, out, _ = run("replay", "--since", "2020-01-01")
    store.rows("update email_events set payload = '{}' where event_id like '%e2%'")

    code, _, _ = run("replay", "--since", "2020-01-01")

    assert (erased, code) == (0, 1)
    assert "left alone: 1, its person was erased" in out


def test_json_is_one_document(workshop: Workshop, run: Run) -> None:
    soft_read_as_hard(workshop)

    _, out, _ = run("replay", "--source", "main", "--apply", "--yes", "--json")

    found = json.loads(out)
    assert found["told"] == found["applied"]
    assert found["applied"]["lifted"] == 1
    assert found["swept"] == {"suppressed": 0, "lifted": 0}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["replay"], 2, "name what to replay"),
        (["replay", "--since", "yesterday"], 3, "since must be a time"),
        (["refold"], 3, "name another soft limit"),
        (["refold", "--class", "5.2.2"], 2, "a class is named like"),
        (["refold", "--soft-limit", "1"], 3, "soft_limit must be"),
    ],
)
def test_a_mistake_ends_with_its_own_code(run: Run, arguments: list[str], code: int, sentence: str) -> None:
    ended, _, err = run(*arguments)

    assert ended == code
    assert sentence in err


def test_refold_shows_who_would_be_stopped_and_how_to_make_it_real(workshop: Workshop, run: Run) -> None:
    bounces = [raw(f"e{n}", "bounce", reason="452 4.2.2 full", message_id=f"m{n}", **SOFT) for n in range(3)]
    workshop.process(record(envelope(*bounces)))

    limit = run("refold", "--soft-limit", "3")
    code = run("refold", "--class", "4.2.2=hard")
    as_json = run("refold", "--soft-limit", "3", "--json")

    assert limit[0] == code[0] == as_json[0] == 0
    assert "1 would be suppressed\n  ann@example.com" in limit[1]
    assert "soft_bounce_limit in cdk.json" in limit[1]
    assert "3 of their bounces with another class" in code[1]
    assert "bin/mailfold replay --apply" in code[1]
    assert json.loads(as_json[1])["suppressed"] == [["ann@example.com", ""]]


def test_prune_is_shown_then_done(store: Store, workshop: Workshop, run: Run, aws: Lambda) -> None:
    old = datetime.now(UTC) - timedelta(days=31)
    workshop.process(record(envelope(raw("e1"), raw("e2"), at=old)))

    shown = run("prune", "--dry-run")
    kept = store.value("select count(*) from email_events")
    aws.remaining_ms = 60_000
    unfinished = run("prune")
    aws.remaining_ms = 900_000
    done = run("prune")

    assert (shown[0], kept) == (0, 2)
    assert f"events        30         2               {old:%Y-%m-%d}" in shown[1]
    assert unfinished[0] == 1
    assert "time ran out: about 2 rows are left" in unfinished[1]
    assert (done[0], store.value("select count(*) from email_events")) == (0, 0)
    assert "nothing is left" in done[1]
