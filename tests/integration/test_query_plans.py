"""No look-up and no page reads a large table from end to end: every statement that is really run is explained."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pg8000.native import to_statement

from bench.lab import Lab
from bench.preload import NOW, loaded, run_sql
from local.postgres import PostgresServer
from mailfold.store.connection import Database, Parameter
from mailfold.store.queries import query
from tests.support.reader import Reader, make_reader

ROWS = 150_000
LARGE = re.compile(r"Seq Scan on (email_events|message_status|suppressions|dead_letters)\b")
#: Planned again each time, as pages are.
COUNTS = {"read_status_counts", "read_event_series", "read_totals", "read_dead_letter_groups", "watch"}
DAY = f"{NOW:%Y-%m-%d}"


@pytest.fixture(scope="module")
def full(postgres_server: PostgresServer) -> Iterator[tuple[Lab, str]]:
    """A store that is large enough for the planner to mind, with its statistics."""
    lab = Lab(postgres_server)
    name = loaded(lab, ROWS)
    run_sql(lab, name, "preload_trouble", ROWS)
    yield lab, name
    lab.drop(name)
    lab.close()


@pytest.fixture
def library(full: tuple[Lab, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """The real query function on that store."""
    lab, name = full
    owner = lab.owner(name)
    owner.execute("truncate api_tokens")
    reader = make_reader(monkeypatch, url=lab.url(name, "mailfold_query"), owner=owner)
    yield reader
    reader.close()
    owner.close()


def literal(value: Parameter) -> str:
    return str(value).lower() if isinstance(value, bool | int) else "'" + value.replace("'", "''") + "'"


def plan(database: Database, name: str, parameters: dict[str, Parameter]) -> str:
    """Explain a statement with its values, as pages are planned."""
    sql = re.sub(r"--[^\n]*", "", query(name))
    for key, value in parameters.items():
        sql = re.sub(rf"(?<!:):{key}\b", literal(value).replace("\\", r"\\"), sql)
    return "\n".join(row[0] for row in database.execute(f"explain {sql}"))


def kept_plan(database: Database, name: str) -> str:
    """Explain a statement without its values, as a look-up is planned once and for all."""
    sql, _ = to_statement(query(name))
    return "\n".join(row[0] for row in database.execute(f"explain (generic_plan) {sql}"))


def asked(library: Reader) -> list[tuple[str, str, dict[str, str], Any]]:
    """Everything that is a look-up or a page, each with filters that find much, little and nothing."""
    [[message_id, recipient]] = library.owner.execute("select message_id, recipient from email_events limit 1")
    [[address]] = library.owner.execute("select address from suppressions limit 1")
    group = library.get("/v1/dead-letters")["groups"][0]["group_id"]
    following = {path: library.get(path, limit=5)["next"] for path in ("/v1/messages", "/v1/suppressions")}
    pages = [
        *({"status": status} for status in ("processed", "delivered", "bounced", "complained", "unsubscribed")),
        *({"source": source} for source in ("sendgrid", "rare", "nobody")),
        {"status": "bounced", "bounce_class": "soft", "source": "rare"},
        {"recipient": recipient},
        {"recipient": "nobody@example.com", "status": "bounced"},
        {"since": f"{DAY}T00:00:00Z", "until": f"{DAY}T06:00:00Z"},
        {"cursor": following["/v1/messages"]},
        {},
    ]
    return [
        ("GET", f"/v1/messages/{message_id}", {}, None),
        ("GET", f"/v1/recipients/{recipient}", {}, None),
        ("POST", "/v1/suppressions/check", {}, {"addresses": [address]}),
        ("POST", "/v1/suppressions/check", {}, {"addresses": [f"{n}@example.com" for n in range(1_000)]}),
        *(("GET", "/v1/messages", filters, None) for filters in pages),
        *(("GET", "/v1/messages", {**filters, "limit": "200"}, None) for filters in pages),
        ("GET", "/v1/suppressions", {}, None),
        ("GET", "/v1/suppressions", {"cursor": following["/v1/suppressions"]}, None),
        ("GET", "/v1/suppressions", {"active": "false", "reason": "manual"}, None),
        ("GET", "/v1/dead-letters", {}, None),
        ("GET", "/v1/dead-letters", {"group": group}, None),
        ("GET", "/v1/dead-letters/unknown", {}, None),
        ("GET", "/v1/statuses/counts", {}, None),
        ("GET", "/v1/statuses/counts", {"since": f"{DAY}T00:00:00Z"}, None),
        ("GET", "/v1/events/series", {"until": f"{DAY}T12:00:00Z"}, None),
        ("GET", "/v1/events/series", {"until": f"{DAY}T12:00:00Z", "step": "minute"}, None),
        ("GET", "/v1/waiting", {}, None),
        ("GET", "/v1/totals", {"days": "1"}, None),
        ("GET", "/v1/sources", {}, None),
    ]


@pytest.mark.parametrize("bound", [False, True], ids=["every source", "bound"])
def test_every_look_up_and_every_page_goes_by_an_index(
    library: Reader, monkeypatch: pytest.MonkeyPatch, bound: bool
) -> None:
    ran: list[tuple[str, dict[str, Parameter]]] = []
    run = library.module.database.run
    questions = asked(library)
    if bound:
        # What asks for another source is refused, and plans nothing.
        library.token = library.make_token("bound", "raw", sources=("rare", "sendgrid"))
        questions = [question for question in questions if question[2].get("source") != "nobody"]

    def watched(name: str, parameters: dict[str, Parameter]) -> Any:
        ran.append((name, dict(parameters)))
        return run(name, parameters)

    monkeypatch.setattr(library.module.database, "run", watched)
    statuses = [library.ask(method, path, query=query_, body=body).status for method, path, query_, body in questions]
    monkeypatch.undo()

    assert set(statuses) <= {200, 404}
    assert {name for name, _ in ran} >= {
        "page_messages",
        "page_messages_of",
        "page_suppressions",
        "read_check",
        "watch",
    }
    scans = {}
    for name, parameters in ran:
        pages = name.startswith("page_") or name in COUNTS
        plans = [plan(library.module.database, name, parameters)]
        plans += [] if pages else [kept_plan(library.module.database, name)]
        found = LARGE.findall("\n".join(plans))
        if found:
            scans[f"{name} {json.dumps(parameters)[:200]}"] = found
    assert scans == {}


@pytest.mark.parametrize("sources", ["null", '["rare"]'])
def test_the_counts_of_a_day_come_from_the_index_alone(library: Reader, sources: str) -> None:
    parameters: dict[str, Parameter] = {
        "since": f"{DAY}T00:00:00Z",
        "until": f"{DAY}T12:00:00Z",
        "step": "1 hour",
        "source": "",
        "sources": sources,
    }

    assert "Index Only Scan using email_events_received_at" in plan(
        library.module.database, "read_event_series", parameters
    )
