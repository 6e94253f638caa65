"""What a request may cost before its token is known to be good, and who is slowed down by wrong ones."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mailfold.steps.query.routes import ROUTES
from mailfold.tokens import new_token, token_hash
from tests.integration.conftest import Store
from tests.support.reader import Reader, make_reader
from tests.support.state import await_no_session

FLOODED = "198.51.100.9"
PATHS = {"message_id": "m1", "address": "ann@example.com", "dead_letter_id": "x"}


class Clock:
    """A wall clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def make_environment(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Reader]]:
    """As many environments of the function as a test wants, each with the limits that it really has."""
    made: list[Reader] = []

    def make() -> Reader:
        store.rows("delete from api_tokens where name = 'ann'")
        reader = make_reader(monkeypatch, url=store.url("mailfold_query"), owner=store.owner)
        keeper = reader.module.query_context
        keeper.wrong_token_rate.burst, keeper.request_rate.burst = 10, 60
        made.append(reader)
        return reader

    yield make
    for reader in made:
        reader.close()


@pytest.fixture
def environment(make_environment: Callable[[], Reader]) -> Reader:
    """One of them."""
    return make_environment()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whatever opens a connection or a transaction from now on."""
    seen: list[str] = []
    connect, begin = "mailfold.store.connection._connect", "mailfold.store.connection.Database._begin"
    monkeypatch.setattr(connect, _noting(seen, "connection", _found(connect)))
    monkeypatch.setattr(begin, _noting(seen, "transaction", _found(begin)))
    return seen


def _found(name: str) -> Callable[..., Any]:
    from mailfold.store import connection

    return connection._connect if name.endswith("_connect") else connection.Database._begin


def _noting(seen: list[str], what: str, act: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*arguments: Any) -> Any:
        seen.append(what)
        return act(*arguments)

    return noted


def flood(reader: Reader, number: int, source_ip: str = FLOODED) -> list[int]:
    return [reader.ask("GET", "/v1/totals", token=new_token(), source_ip=source_ip).status for _ in range(number)]


@pytest.mark.parametrize("header", [{}, {"authorization": "Bearer"}, {"authorization": "Bearer mf_short"}])
def test_two_hundred_requests_without_a_token_open_nothing(
    make_environment: Callable[[], Reader], opened: list[str], store: Store, header: dict[str, str]
) -> None:
    environments = [make_environment() for _ in range(8)]
    store.rows("select 1")
    opened.clear()
    routes = [route for route in ROUTES if route.scope is not None]

    statuses = set()
    for number in range(200):
        route = routes[number % len(routes)]
        reader = environments[number % len(environments)]
        reply = reader.ask(
            route.method, route.path.format(**PATHS), token="", headers=header, source_ip=f"203.0.113.{number}"
        )
        statuses.add(reply.status)

    assert statuses == {401}
    assert opened == []
    await_no_session(store, "mailfold_query")


def test_wrong_tokens_leave_no_connection_behind(make_environment: Callable[[], Reader], store: Store) -> None:
    environments = [make_environment() for _ in range(8)]

    statuses = {flood(reader, 3, source_ip=f"203.0.113.{n}")[0] for n, reader in enumerate(environments)}

    assert statuses == {401}
    await_no_session(store, "mailfold_query")


def test_the_health_is_looked_at_once_in_a_few_seconds_and_holds_no_connection(
    make_environment: Callable[[], Reader], opened: list[str], store: Store
) -> None:
    environments = [make_environment() for _ in range(8)]
    store.rows("select 1")
    opened.clear()

    replies = [reader.ask("GET", "/healthz", token="") for _ in range(25) for reader in environments]

    assert {reply.status for reply in replies} == {200}
    assert {reply.body["database"] for reply in replies} == {"reachable"}
    assert len({reply.body["schema_version"] for reply in replies}) == 1
    assert opened.count("transaction") == len(environments)
    await_no_session(store, "mailfold_query")


@pytest.mark.parametrize("path", ["/healthz", "/v1/sources"])
def test_a_connection_that_idled_out_is_not_opened_again_for_strangers(
    environment: Reader, store: Store, path: str
) -> None:
    assert environment.ask("GET", "/v1/sources").status == 200
    store.rows("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'mailfold_query'")
    await_no_session(store, "mailfold_query")

    reply = environment.ask("GET", path, token="" if path == "/healthz" else new_token())

    assert reply.status in {200, 401}
    await_no_session(store, "mailfold_query")


def test_the_health_of_a_database_that_is_away_is_kept_as_well(
    environment: Reader, opened: list[str], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(environment.module.query_context.health, "clock", clock)
    store.rows("alter table schema_migrations rename to elsewhere")
    away = [environment.ask("GET", "/healthz", token="") for _ in range(20)]
    store.rows("alter table elsewhere rename to schema_migrations")
    still = environment.ask("GET", "/healthz", token="")
    clock.now += 6
    back = environment.ask("GET", "/healthz", token="")
    store.rows("alter table schema_migrations rename to elsewhere")
    seen = environment.ask("GET", "/healthz", token="")
    clock.now += 6
    gone = environment.ask("GET", "/healthz", token="")

    assert {(reply.status, reply.headers.get("retry-after")) for reply in [*away, still]} == {(503, "1")}
    assert [back.status, seen.status, gone.status] == [200, 200, 503]


def test_a_clock_that_is_set_back_keeps_no_old_result(
    environment: Reader, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(environment.module.query_context.health, "clock", clock)
    assert environment.ask("GET", "/healthz", token="").status == 200
    store.rows("alter table schema_migrations rename to elsewhere")
    clock.now -= 3_600

    assert environment.ask("GET", "/healthz", token="").status == 503


def test_a_token_that_was_wrong_is_refused_without_the_database(environment: Reader, opened: list[str]) -> None:
    wrong = new_token()
    first = environment.ask("GET", "/v1/totals", token=wrong, source_ip="203.0.113.1").status
    opened.clear()

    statuses = [environment.ask("GET", "/v1/totals", token=wrong, source_ip=f"203.0.113.{n}").status for n in range(99)]

    assert {first, *statuses} == {401}
    assert opened == []


@pytest.mark.parametrize("column", ["revoked_at = now()", "expires_at = now() - interval '1 second'"])
def test_a_token_that_has_ended_is_refused_at_once_and_then_without_the_database(
    environment: Reader, store: Store, opened: list[str], column: str
) -> None:
    assert environment.ask("GET", "/v1/totals").status == 200
    store.rows(f"update api_tokens set {column}")
    first = environment.ask("GET", "/v1/totals", source_ip="203.0.113.1").status
    opened.clear()

    again = [environment.ask("GET", "/v1/totals", source_ip=f"203.0.113.{n}").status for n in range(20)]

    assert {first, *again} == {401}
    assert opened == []


def test_a_token_that_is_made_after_it_was_refused_is_soon_good(
    environment: Reader, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(environment.module.query_context.digests, "clock", clock)
    early = new_token()
    before = environment.ask("GET", "/v1/totals", token=early).status
    store.rows(
        "insert into api_tokens (name, token_hash, scopes, created_at) "
        f"values ('early', '{token_hash(early)}', array['read'], now())"
    )
    clock.now += 31
    after = [environment.ask("GET", "/v1/totals", token=early).status for _ in range(3)]

    assert (before, after) == (401, [200] * 3)


def test_a_database_that_is_away_makes_no_token_bad(environment: Reader, store: Store) -> None:
    good = environment.make_token("good", "read")
    store.rows("alter table api_tokens rename to elsewhere")
    away = environment.ask("GET", "/v1/totals", token=good).status
    store.rows("alter table elsewhere rename to api_tokens")

    assert (away, environment.ask("GET", "/v1/totals", token=good).status) == (503, 200)


def test_wrong_tokens_slow_down_no_good_one_of_the_same_address(environment: Reader) -> None:
    known = environment.ask("GET", "/v1/totals", source_ip=FLOODED).status
    early = environment.make_token("early", "read")
    statuses = flood(environment, 50)
    late = environment.make_token("late", "read")

    good = [
        environment.ask("GET", "/v1/totals", token=token, source_ip=FLOODED).status
        for token in (environment.token, early, late)
    ]
    still_wrong = flood(environment, 1)
    elsewhere = flood(environment, 1, source_ip="198.51.100.10")

    assert statuses == [401] * 10 + [429] * 40
    assert ([known], good, still_wrong, elsewhere) == ([200], [200] * 3, [429], [401])


def test_a_refusal_for_too_many_wrong_tokens_says_how_long(environment: Reader) -> None:
    flood(environment, 20)

    reply = environment.ask("GET", "/v1/totals", token=new_token(), source_ip=FLOODED)

    assert reply.status == 429
    assert int(reply.headers["retry-after"]) >= 1


def test_random_tokens_from_everywhere_cost_few_look_ups_and_shut_no_good_one_out(
    environment: Reader, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(environment.module.query_context.digests.looks, "clock", clock)
    unseen = environment.make_token("unseen", "read")
    opened.clear()

    statuses = {flood(environment, 1, source_ip=f"203.0.113.{n}")[0] for n in range(1_000)}
    costs = opened.count("transaction")
    good = environment.ask("GET", "/v1/totals", token=unseen, source_ip="203.0.113.1").status
    made_meanwhile = environment.make_token("meanwhile", "read")
    clock.now += 2
    flood(environment, 1)
    clock.now += 2

    # Whether a token is wrong that came after the last look is not known yet: it may be asked again.
    assert statuses == {401, 429}
    assert costs <= 61
    assert good == 200
    assert environment.ask("GET", "/v1/totals", token=made_meanwhile).status == 200


def test_what_is_remembered_of_tokens_is_bounded(environment: Reader) -> None:
    for n in range(3_000):
        flood(environment, 1, source_ip=f"203.0.{n // 250}.{n % 250}")

    assert len(environment.module.query_context.digests.bad) <= 1_000
