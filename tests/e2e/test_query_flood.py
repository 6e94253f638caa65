"""Many requests at once through the deployed template: who has no token opens nothing at the database."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pg8000.native

from cli.local_stack import Stack
from mailfold.tokens import new_token
from tests.e2e.support import await_that
from tests.e2e.test_query import ask, token

__all__ = ["token"]

SESSIONS = "select count(*) from pg_stat_activity where usename = 'mailfold_query'"
PATHS = ("/v1/sources", "/v1/messages/m1", "/v1/nowhere", "/v1/suppressions/check")


def sessions(database: pg8000.native.Connection) -> int:
    [[count]] = database.run(SESSIONS)
    return int(count)


def test_two_hundred_requests_without_a_token_open_no_connection(
    stack: Stack, database: pg8000.native.Connection
) -> None:
    before = sessions(database)

    with ThreadPoolExecutor(8) as callers:
        replies = callers.map(lambda n: ask(stack, PATHS[n % len(PATHS)])[0], range(200))
        statuses = Counter(replies)

    # 429 is the throttle of the routes, which stands before the function.
    assert set(statuses) <= {401, 429}
    assert statuses[401] > 0
    assert sessions(database) <= before


def test_the_health_asked_by_many_leaves_no_connections_behind(
    stack: Stack, database: pg8000.native.Connection
) -> None:
    before = sessions(database)

    with ThreadPoolExecutor(8) as callers:
        statuses = Counter(callers.map(lambda _: ask(stack, "/healthz")[0], range(200)))

    assert set(statuses) <= {200, 429}
    # Each look closes what it has opened.
    await_that(lambda: sessions(database) <= max(before, 3))


def test_a_good_token_is_let_in_after_many_wrong_ones(stack: Stack, token: str) -> None:
    wrong = Counter(ask(stack, "/v1/sources", new_token())[0] for _ in range(50))

    assert set(wrong) <= {401, 429}
    assert ask(stack, "/v1/sources", token)[0] == 200
