"""The commands about people from the typed line to the tables: the real command line, the real operate function."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cli import __main__ as cli
from cli.errors import DECLINED, CommandError
from tests.integration.conftest import Store, Workshop
from tests.support.records import envelope, raw, record

Order = Callable[..., dict[str, Any]]
Run = Callable[..., tuple[int, str]]

ANN = "ann@example.com"


@pytest.fixture
def run(order: Order, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Type a command; return its exit code and what it printed, without the lines of the function."""

    class HerePlace:
        def order(self, command: str, **arguments: Any) -> dict[str, Any]:
            given = {name: value for name, value in arguments.items() if value is not None}
            before = capsys.readouterr().out
            try:
                # As it is on its way through Lambda.
                answer: dict[str, Any] = json.loads(json.dumps(order(command, **json.loads(json.dumps(given)))))
            except AssertionError as declined:
                raise CommandError(str(declined), DECLINED) from None
            finally:
                capsys.readouterr()
                print(before, end="")
            return answer

    monkeypatch.setattr(cli, "_place", lambda arguments: HerePlace())
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def typed(*argv: str) -> tuple[int, str]:
        code = cli.main(argv)
        return code, capsys.readouterr().out

    return typed


def test_a_list_goes_out_and_comes_back_into_an_empty_database_as_it_was(
    store: Store, workshop: Workshop, order: Order, run: Run, tmp_path: Path
) -> None:
    events = [
        raw("e1", "bounce", bounce_type="Permanent", reason="=1+1 is no mailbox"),
        raw("e2", "complaint", at="2026-02-01T00:00:00Z"),
        raw("e3", "unsubscribe", recipient="+bob@example.com"),
    ]
    workshop.process(record(envelope(*events)))
    order("suppressions.add", address="cid@example.com", scope="group:1", reason="asked, in writing")
    listed = "select address, scope, since, last_suppress_at from suppressed where scope = '' order by 1"
    before = store.rows(listed)
    file = tmp_path / "list.csv"

    exported, _ = run("suppressions", "export", "--output", str(file))
    store.rows("truncate email_events, suppressions")
    imported, told = run("suppressions", "import", str(file), "--yes", "--json")
    again, twice = run("suppressions", "import", str(file), "--yes", "--json")

    assert (exported, imported, again) == (0, 0, 0)
    assert (json.loads(told)["imported"], json.loads(twice)["imported"]) == (4, 0)
    assert store.rows(listed) == before
    assert store.value("select count(*) from suppressed where address = 'cid@example.com' and scope = 'group:1'") == 1


def test_a_person_is_erased_and_the_proof_is_printed(store: Store, workshop: Workshop, run: Run) -> None:
    workshop.process(record(envelope(raw("e1", "bounce", bounce_type="Permanent", reason=f"<{ANN}>"))))

    counted, table = run("erase", ANN)
    code, proof = run("erase", ANN, "--apply", "--yes", "--json")
    explained, words = run("suppressions", "explain", ANN)

    told = json.loads(proof)
    assert (counted, code, explained) == (0, 0, 0)
    assert "nothing was changed" in table
    assert (told["left"], told["stops_kept"], told["stops_before"]) == (0, True, [""])
    assert {row["table"]: row["changed"] for row in told["tables"] if row["changed"]} == {
        "suppressions": 1,
        "message_status": 1,
        "email_events": 1,
        "outbox": 2,
    }
    assert "must not be mailed" in words
    assert "(the person is erased)" in words
    assert store.value("select count(*) from email_events where payload::text like '%ann@%'") == 0


def test_what_the_stack_declines_is_told(run: Run) -> None:
    assert run("suppressions", "lift", ANN, "--reason", "r", "--yes")[0] == DECLINED


class TestTokens:
    """mailfold tokens."""

    def test_a_token_of_a_sending_service_is_narrow_and_ends(self, run: Run, store: Store) -> None:
        code, words = run("tokens", "add", "checkout", "--scope", "check", "--source", "main", "--days", "30")
        _, listed = run("tokens")

        assert code == 0
        assert words.strip().startswith("mf_")
        assert store.rows("select scopes, sources, expires_at - created_at from api_tokens") == [
            [["check"], ["main"], timedelta(days=30)]
        ]
        [_, row] = listed.strip().splitlines()
        assert row.split()[:3] == ["checkout", "check", "main"]

    def test_without_options_it_is_as_narrow_and_good_for_ninety_days(self, run: Run, store: Store) -> None:
        run("tokens", "add", "checkout")

        assert store.rows("select scopes, sources, expires_at - created_at from api_tokens") == [
            [["check"], None, timedelta(days=90)]
        ]

    def test_a_token_may_have_several_scopes_and_no_end(self, run: Run, store: Store) -> None:
        run("tokens", "add", "ann", "--scope", "operate", "--scope", "raw", "--no-expiry")
        _, listed = run("tokens")

        assert store.rows("select scopes, expires_at from api_tokens") == [[["raw", "operate"], None]]
        assert "raw, operate" in listed
        assert "never" in listed
        assert " all " in listed

    @pytest.mark.parametrize(
        "options",
        [("--scope", "everything"), ("--days", "3", "--no-expiry"), ("--days", "soon")],
        ids=str,
    )
    def test_a_mistake_is_told_before_anything_is_made(self, run: Run, store: Store, options: tuple[str, ...]) -> None:
        with pytest.raises(SystemExit) as ended:
            run("tokens", "add", "ann", *options)

        assert ended.value.code == 2
        assert store.rows("select * from api_tokens") == []
