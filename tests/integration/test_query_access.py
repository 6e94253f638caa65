"""Who may ask: every route of the table, with every kind of token."""

from typing import Any

import pytest

from mailfold.steps.query.route import Route
from mailfold.steps.query.routes import ROUTES
from mailfold.tokens import new_token
from tests.integration.conftest import Store
from tests.support.reader import Reader

PATHS = {"message_id": "m1", "address": "ann@example.com", "dead_letter_id": "x"}
BODIES: dict[str, Any] = {"/v1/suppressions/check": {"addresses": ["ann@example.com"]}}
KNOWN = [route for route in ROUTES if route.scope is not None]


def asked(reader: Reader, route: Route, token: str) -> int:
    body = BODIES.get(route.path, {} if route.in_body else None)
    return reader.ask(route.method, route.path.format(**PATHS), body=body, token=token).status


@pytest.fixture
def tokens(reader: Reader) -> dict[str, str]:
    """One token of each kind."""
    return {
        "none": "",
        "unknown": new_token(),
        "nonsense": "mf_' or 1=1 --",
        "expired": reader.make_token("old", "read", "operate", expires="now() - interval '1 second'"),
        "revoked": reader.make_token("gone", "read", "operate", revoked="now()"),
        "read": reader.make_token("reader", "read"),
        "operate": reader.make_token("operator", "read", "operate"),
        "nothing": reader.make_token("powerless"),
    }


@pytest.mark.parametrize("route", KNOWN, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_asks_for_a_good_token_of_its_scope(
    reader: Reader, tokens: dict[str, str], store: Store, route: Route
) -> None:
    statuses = {kind: asked(reader, route, token) for kind, token in tokens.items()}

    for kind in ("none", "unknown", "nonsense", "expired", "revoked"):
        assert statuses[kind] == 401, kind
    assert statuses["nothing"] == 403
    assert (statuses["read"] == 403) == (route.scope == "operate")
    assert statuses["operate"] not in (401, 403)
    if route.scope == "operate":
        names = {row[0] for row in store.rows("select by_whom from audit_log")}
        assert names <= {"token:operator"}


def test_what_changes_something_needs_more_than_reading() -> None:
    for route in KNOWN:
        assert (route.scope == "operate") == (not route.reads)
        assert route.method != "GET" or route.reads


@pytest.mark.parametrize("path", ["/v1/nowhere", "/v1", "/", "/v1/messages"])
def test_whoever_is_not_known_learns_nothing_of_what_is_here(reader: Reader, path: str) -> None:
    for method in ("GET", "POST", "DELETE", "TRACE"):
        assert reader.ask(method, path, token="").status == 401
        assert reader.ask(method, path).status in (200, 404, 405)


def test_a_refusal_says_how_to_be_admitted(reader: Reader) -> None:
    reply = reader.ask("GET", "/v1/totals", token="")

    assert reply.headers["www-authenticate"].startswith("Bearer")


def test_a_wrong_method_says_which_are_right(reader: Reader) -> None:
    reply = reader.ask("PATCH", "/v1/suppressions/ann@example.com")

    assert (reply.status, reply.headers["allow"]) == (405, "DELETE, PUT")


@pytest.mark.parametrize("scheme", ["Basic {}", "{}", "Bearer", "Bearer  ", "bearer {} {}", "Bearer {}x"])
def test_only_a_bearer_is_admitted(reader: Reader, scheme: str) -> None:
    header = {"authorization": scheme.format(reader.token, reader.token)}

    assert reader.ask("GET", "/v1/totals", token="", headers=header).status == 401


def test_the_token_itself_is_nowhere_in_the_database(reader: Reader, store: Store) -> None:
    reader.get("/v1/totals")

    assert reader.token not in str(store.rows("select * from api_tokens"))
    assert store.rows("select last_used_at is not null from api_tokens") == [[True]]


def test_the_use_of_a_token_is_noted_once_an_hour(reader: Reader, store: Store) -> None:
    reader.get("/v1/totals")
    noted = store.value("select last_used_at from api_tokens")
    reader.get("/v1/totals")
    same = store.value("select last_used_at from api_tokens")
    store.rows("update api_tokens set last_used_at = last_used_at - interval '61 minutes'")
    reader.get("/v1/totals")

    assert same == noted
    assert store.value("select last_used_at from api_tokens") > noted


def test_whoever_guesses_is_slowed_down_and_nobody_else(reader: Reader) -> None:
    reader.module.query_context.wrong_token_rate.burst = 5

    statuses = [reader.ask("GET", "/v1/totals", token=new_token(), source_ip="198.51.100.9").status for _ in range(8)]
    one_more = reader.ask("GET", "/v1/totals", token=new_token(), source_ip="198.51.100.9")
    with_a_good_one = reader.ask("GET", "/v1/totals", source_ip="198.51.100.9")
    elsewhere = reader.ask("GET", "/v1/totals", source_ip="198.51.100.10")

    assert statuses == [401] * 5 + [429] * 3
    assert one_more.status == 429
    assert int(one_more.headers["retry-after"]) >= 1
    assert with_a_good_one.status == 200
    assert elsewhere.status == 200


def test_a_token_that_asks_too_often_is_put_off(reader: Reader) -> None:
    other = reader.make_token("other", "read")
    reader.module.query_context.request_rate.burst = 3

    statuses = [reader.ask("GET", "/healthz").status for _ in range(5)]
    statuses += [reader.ask("GET", "/v1/totals").status for _ in range(4)]

    assert statuses == [200] * 5 + [200] * 3 + [429]
    assert reader.ask("GET", "/v1/totals", token=other).status == 200
