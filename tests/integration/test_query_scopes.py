"""What each token may do and see: all routes, all scopes, bound to sources and not."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.steps.query.route import Route
from mailfold.steps.query.routes import ROUTES
from mailfold.tokens import SCOPES, allowed
from tests.integration.conftest import Store, Workshop
from tests.support.reader import Reader
from tests.support.records import envelope, raw, record

PATHS = {"message_id": "m1", "address": "ann@example.com", "dead_letter_id": "x"}
BODIES: dict[str, Any] = {"/v1/suppressions/check": {"addresses": ["ann@example.com"]}}
#: What the table of docs/query.md says, written down once more.
NEEDED = {
    ("POST", "/v1/suppressions/check"): "check",
    ("PUT", "/v1/suppressions/{address}"): "operate",
    ("DELETE", "/v1/suppressions/{address}"): "operate",
    ("POST", "/v1/dead-letters/redrive"): "operate",
}
WORDS = "confidential words"
KNOWN = [route for route in ROUTES if route.scope is not None]


def ask(reader: Reader, route: Route, token: str, **query: str) -> Any:
    body = BODIES.get(route.path, {} if route.in_body else None)
    return reader.ask(route.method, route.path.format(**PATHS), body=body, token=token, query=query)


@pytest.fixture
def two_sources(workshop: Workshop, store: Store) -> None:
    """One message of one address, of which two sources tell, and two dead letters of each and of no source."""
    now = datetime.now(UTC)
    ours = raw("ours", at=now.isoformat(), reason="ours")
    workshop.process(record(envelope(ours, {"type": "delivery"}, at=now)))
    events = [theirs("theirs", now), theirs("only", now, sg_message_id="m2", email="bob@example.com"), {"event": WORDS}]
    workshop.process(record(envelope(*events, source="sendgrid", at=now)))
    workshop.process(record("no envelope"))


def theirs(event_id: str, at: datetime, **data: Any) -> dict[str, Any]:
    """A hard bounce that SendGrid tells of."""
    bounce = {"event": "bounce", "type": "bounce", "status": "5.1.1", "reason": WORDS}
    message = {"sg_event_id": event_id, "sg_message_id": "m1", "email": "ann@example.com"}
    return {**bounce, **message, "timestamp": int(at.timestamp()), **data}


@pytest.mark.parametrize("bound", [False, True], ids=["every source", "bound"])
@pytest.mark.parametrize("scope", [*SCOPES, "none", "nonsense"])
@pytest.mark.parametrize("route", KNOWN, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_with_every_scope(reader: Reader, route: Route, scope: str, bound: bool) -> None:
    given = () if scope == "none" else (scope,)
    token = reader.make_token("it", *given, sources=("main",) if bound else None)
    needed = NEEDED.get((route.method, route.path), "read")
    may = needed in allowed(given) and not (bound and needed == "operate")

    reply = ask(reader, route, token)

    assert route.scope == needed
    assert (reply.status == 403) is not may
    assert may or "scope" in reply.body["error"] or "bound" in reply.body["error"]
    if not may and needed not in allowed(given):
        assert f"the scope {needed}" in reply.body["error"]


@pytest.mark.parametrize("scope", SCOPES)
def test_raw_payloads_need_their_own_scope(reader: Reader, two_sources: None, store: Store, scope: str) -> None:
    token = reader.make_token("it", scope)
    dead_letter = store.value("select dead_letter_id from dead_letters where kind = 'not_an_envelope'")
    paths = ("/v1/messages/m1", f"/v1/dead-letters/{dead_letter}")

    with_raw = [reader.ask("GET", path, query={"raw": "true"}, token=token) for path in paths]
    without = [reader.ask("GET", path, query={"raw": "false"}, token=token) for path in paths]
    unsaid = reader.ask("GET", paths[1], token=token)

    assert [reply.status for reply in with_raw] == [200 if scope == "raw" else 403] * 2
    assert all(b'"raw"' not in reply.content and b"no envelope" not in reply.content for reply in without)
    assert (b"no envelope" in unsaid.content) == (scope == "raw")
    if scope in ("read", "operate"):
        assert {reply.body["error"] for reply in with_raw} == {"this token lacks the scope raw"}


def test_what_includes_what() -> None:
    assert {scope: sorted(allowed([scope])) for scope in SCOPES} == {
        "check": ["check"],
        "read": ["check", "read"],
        "raw": ["check", "raw", "read"],
        "operate": ["check", "operate", "read"],
    }


def walked(reader: Reader, token: str) -> str:
    """Everything that a token can be shown."""
    groups = reader.ask("GET", "/v1/dead-letters", token=token).body["groups"]
    asked: list[tuple[str, dict[str, str]]] = [
        ("/v1/messages", {}),
        ("/v1/messages", {"recipient": "ann@example.com"}),
        ("/v1/messages", {"recipient": "bob@example.com"}),
        ("/v1/messages", {"status": "bounced"}),
        ("/v1/messages/m1", {}),
        ("/v1/messages/m1", {"raw": "true"}),
        ("/v1/messages/m2", {}),
        ("/v1/recipients/ann@example.com", {}),
        ("/v1/recipients/bob@example.com", {}),
        ("/v1/suppressions", {}),
        ("/v1/totals", {}),
        ("/v1/events/series", {}),
        ("/v1/statuses/counts", {}),
        ("/v1/sources", {}),
        ("/v1/dead-letters", {}),
        *(("/v1/dead-letters", {"group": group["group_id"]}) for group in groups),
        *((f"/v1/dead-letters/{group['sample']}", {}) for group in groups),
    ]
    return json.dumps([reader.ask("GET", path, query=query, token=token).body for path, query in asked])


def test_a_bound_token_is_shown_nothing_of_another_source(reader: Reader, two_sources: None) -> None:
    bound = reader.make_token("bound", "raw", sources=("main",))
    free = reader.make_token("free", "raw")

    assert WORDS in walked(reader, free)
    shown = walked(reader, bound)
    for theirs in (WORDS, "sendgrid", "no envelope", '"m2"'):
        assert theirs not in shown
    assert "sesmetric:ours" in shown


def test_a_bound_token_sees_the_status_that_its_sources_tell(reader: Reader, two_sources: None) -> None:
    bound = reader.make_token("bound", "read", sources=("main",))

    [message] = reader.ask("GET", "/v1/messages", token=bound).body["messages"]
    [recipient] = reader.ask("GET", "/v1/messages/m1", token=bound).body["recipients"]
    counts = reader.ask("GET", "/v1/statuses/counts", token=bound).body["counts"]
    bounced = reader.ask("GET", "/v1/messages", query={"status": "bounced"}, token=bound).body["messages"]

    assert (message["status"], recipient["status"], bounced) == ("delivered", "delivered", [])
    assert {row["status"]: row["messages"] for row in counts if row["messages"]} == {"delivered": 1}
    assert reader.get("/v1/messages/m1")["recipients"][0]["status"] == "bounced"


def test_a_bound_token_counts_what_its_sources_told(reader: Reader, two_sources: None) -> None:
    bound = reader.make_token("bound", "read", sources=("main",))

    def told(path: str) -> Any:
        return reader.ask("GET", path, token=bound).body

    assert [(row["source"], row["type"], row["events"]) for row in told("/v1/totals")["totals"]] == [
        ("main", "delivered", 1)
    ]
    assert [(point["type"], point["events"]) for point in told("/v1/events/series")["points"]] == [("delivered", 1)]
    assert [(row["source"], row["dead_letters"]) for row in told("/v1/sources")["sources"]] == [("main", 1)]
    assert [group["source"] for group in told("/v1/dead-letters")["groups"]] == ["main"]
    assert (told("/v1/waiting")["dead_letters"], reader.get("/v1/waiting")["dead_letters"]) == (1, 3)
    assert told("/v1/waiting")["newest_event_at"] is not None


@pytest.mark.parametrize("sources", [(), ("ses",), ("other",)])
def test_a_bound_token_without_anything_to_see_sees_nothing(
    reader: Reader, two_sources: None, store: Store, sources: tuple[str, ...]
) -> None:
    bound = reader.make_token("bound", "raw", sources=sources)
    dead_letter = store.value("select dead_letter_id from dead_letters limit 1")

    for path in ("/v1/messages/m1", f"/v1/dead-letters/{dead_letter}"):
        assert reader.ask("GET", path, token=bound).status == 404
    assert reader.ask("GET", "/v1/messages", token=bound).body == {"messages": [], "next": None}
    assert reader.ask("GET", "/v1/suppressions", token=bound).body == {"suppressions": [], "next": None}
    assert reader.ask("GET", "/v1/waiting", token=bound).body["newest_event_at"] is None


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/events/series", "/v1/statuses/counts"])
def test_a_source_that_the_token_is_not_bound_to_is_refused_whether_it_exists_or_not(reader: Reader, path: str) -> None:
    bound = reader.make_token("bound", "read", sources=("main", "ses"))

    replies = [reader.ask("GET", path, query={"source": name}, token=bound) for name in ("sendgrid", "nowhere")]

    assert {(reply.status, reply.body["error"]) for reply in replies} == {
        (403, "this token is bound to the sources main, ses")
    }
    assert reader.ask("GET", path, query={"source": "main"}, token=bound).status == 200


def test_whether_an_address_may_be_mailed_is_told_over_all_sources(reader: Reader, two_sources: None) -> None:
    bound = reader.make_token("bound", "read", sources=("main",))
    body = {"addresses": ["ann@example.com", "bob@example.com", "carl@example.com"]}

    checked = reader.ask("POST", "/v1/suppressions/check", body=body, token=bound).body
    shown = reader.ask("GET", "/v1/recipients/ann@example.com", token=bound).body

    assert checked == reader.ask("POST", "/v1/suppressions/check", body=body).body
    assert [result["suppressed"] for result in checked["results"]] == [True, True, False]
    assert not shown["may_be_mailed"]
    [row] = shown["suppressions"]
    assert row["suppressed"]
    assert (row["first_suppress"], row["last_suppress"], row.get("first_suppress_event_id")) == (None, None, None)
    assert [event["event_id"] for event in shown["events"]] == ["sesmetric:ours"]


def test_the_list_of_stops_has_the_addresses_that_the_sources_know(reader: Reader, two_sources: None) -> None:
    bound = reader.make_token("bound", "read", sources=("main",))
    theirs = reader.make_token("theirs", "read", sources=("sendgrid",))

    [row] = reader.ask("GET", "/v1/suppressions", token=bound).body["suppressions"]
    rows = reader.ask("GET", "/v1/suppressions", token=theirs).body["suppressions"]

    assert (row["address"], row["suppressed"], row["reason"], row["evidence"]) == (
        "ann@example.com",
        True,
        "bounced",
        None,
    )
    assert {row["address"]: row["evidence"]["source"] for row in rows} == {
        "ann@example.com": "sendgrid",
        "bob@example.com": "sendgrid",
    }


def test_pages_of_a_bound_token_show_each_message_once(
    reader: Reader, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mailfold.steps.query.messages.WALK_FILTERED", 7)
    bound = reader.make_token("bound", "read", sources=("main",))
    for n in range(30):
        event = raw(f"e{n}", message_id=f"m{n % 11}")
        if n % 3 == 0:
            event = theirs(f"e{n}", datetime.now(UTC), sg_message_id=f"m{n % 11}")
        workshop.process(record(envelope(event, source="main" if n % 3 else "sendgrid")))

    found, query = [], {"limit": "2"}
    while query:
        page = reader.ask("GET", "/v1/messages", query=query, token=bound).body
        found += [item["message_id"] for item in page["messages"]]
        query = {"limit": "2", "cursor": page["next"]} if page["next"] else {}

    assert sorted(found) == sorted({f"m{n % 11}" for n in range(30) if n % 3})
