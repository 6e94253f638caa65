"""prune: past the window only, in batches, totals kept, and stopped anywhere without harm."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailfold.errors import TransientStoreError
from mailfold.retention import DEFAULT_DAYS
from mailfold.steps import prune as prune_step
from mailfold.steps.prune import ONE_SNAPSHOT, TIME_GUARD_MS, PruneContext, prune
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TOTALS = """
select day, source, type, bounce_class, sum(events) from (
    select day, source, type, bounce_class, events from daily_totals
    union all
    select cast(occurred_at at time zone 'UTC' as date), source, type, coalesce(bounce_class, ''), count(*)
    from email_events group by 1, 2, 3, 4
) t group by 1, 2, 3, 4 order by 1, 2, 3, 4
"""
COUNTS = {
    "events": "select count(*) from email_events",
    "statuses": "select count(*) from message_status",
    "claims": "select count(*) from claims",
    "outbox": "select count(*) from outbox",
    "dead_letters": "select count(*) from dead_letters",
}


@pytest.fixture
def database(store: Any) -> Iterator[Database]:
    """The database as prune is let in."""
    database = Database(store.url("mailfold_prune"))
    yield database
    database.close()


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune_step, "BATCH_ROWS", 10)


def days_ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat()


def add_events(
    store: Any, count: int, *, received: float, occurred: float = 200, name: str = "e", apart_us: int = 1
) -> None:
    store.rows(
        "insert into email_events (event_id, fingerprint, source, provider, kind, type, bounce_class, scope,"
        " occurred_at, received_at, machine, payload)"
        f" select '{name}-{received}-' || n, 'f', 'main', 'test', 'k',"
        " case when n % 2 = 0 then 'delivered' else 'bounced' end, case when n % 2 = 1 then 'soft' end, '',"
        f" timestamptz '{days_ago(occurred)}' + n % 3 * interval '1 day',"
        f" timestamptz '{days_ago(received)}' + n * interval '{apart_us} microsecond', false, '{{}}'"
        f" from generate_series(1, {count}) n"
    )


def run(
    database: Database, *, remaining_ms: Callable[[], int] = lambda: 900_000, **windows: int
) -> dict[str, int | bool | None]:
    shears = PruneContext(
        database=database,
        retention={**DEFAULT_DAYS, **windows},
        now=NOW,
        remaining_ms=remaining_ms,
        telemetry=Telemetry("prune"),
    )
    return prune(shears)


def test_events_past_the_window_go_by_when_they_were_received(store: Any, database: Database) -> None:
    add_events(store, 25, received=30.1, occurred=1, name="late")
    add_events(store, 7, received=29.9, occurred=400, name="early")

    pruned = run(database)

    assert (pruned["events"], pruned["finished"]) == (25, True)
    assert store.value("select count(*) from email_events where event_id like 'early%'") == 7
    assert store.value(COUNTS["events"]) == 7


def test_the_totals_of_each_day_survive(store: Any, database: Database) -> None:
    add_events(store, 33, received=40)
    add_events(store, 11, received=1)
    before = store.rows(TOTALS)

    run(database)
    add_events(store, 5, received=35, name="another")
    grown = store.rows(TOTALS)
    run(database)

    assert sum(row[-1] for row in before) == 44
    assert sum(row[-1] for row in grown) == 49
    assert store.rows(TOTALS) == grown
    assert store.value("select sum(events) from daily_totals") == 38


def test_deleting_and_counting_are_one_transaction(
    store: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_events(store, 15, received=40)
    before = store.rows(TOTALS)
    commit, commits = database.execute, iter(range(100))

    def fail_at_the_second_commit(sql: str) -> Any:
        if sql == "commit" and next(commits) == 1:
            raise ConnectionResetError
        return commit(sql)

    monkeypatch.setattr(database, "execute", fail_at_the_second_commit)
    with pytest.raises(ConnectionResetError):
        run(database)

    database.close()
    assert store.rows(TOTALS) == before
    assert store.value(COUNTS["events"]) == 5


def test_it_deletes_in_batches(store: Any, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    add_events(store, 35, received=40)
    run_statement, batches = database.run, []

    def watched(name: str, parameters: Any) -> Any:
        rows = run_statement(name, parameters)
        batches.append((name, rows[0][0]))
        return rows

    monkeypatch.setattr(database, "run", watched)
    run(database)

    assert [deleted for name, deleted in batches if name == "prune_events"] == [10, 10, 10, 5]


def test_out_of_time_it_stops_and_says_so_and_the_next_run_finishes(store: Any, database: Database) -> None:
    add_events(store, 35, received=40)
    before = store.rows(TOTALS)
    clock = iter([TIME_GUARD_MS + 1, TIME_GUARD_MS + 1])

    suppressed = run(database, remaining_ms=lambda: next(clock, TIME_GUARD_MS))
    between = store.rows(TOTALS)
    finished = run(database)

    assert (suppressed["events"], suppressed["finished"], suppressed["left"]) == (20, False, 15)
    assert (finished["events"], finished["finished"], finished["left"]) == (15, True, 0)
    assert before == between == store.rows(TOTALS)


def test_every_table_has_a_window_of_its_own(store: Any, database: Database) -> None:
    for days, name in ((100, "old"), (1, "new")):
        at = days_ago(days)
        add_events(store, 3, received=days, name=name)
        store.rows(
            f"insert into message_status values ('{name}', 'a@example.com', 'delivered', '', '{at}', '{at}', '{at}');"
            "insert into claims (claim_key, request_hash, source, created_at)"
            f" values ('{name}', 'h', 's', '{at}');"
            f"insert into outbox (topic, key, body, published_at) values ('t', '{name}', '{{}}', '{at}');"
            "insert into dead_letters (dead_letter_id, kind, reason, raw, received_at, created_at)"
            f" values ('{name}', 'k', 'r', 'raw', '{at}', '{at}')"
        )
    store.rows(
        f"insert into outbox (topic, key, body, created_at) values ('t', 'unpublished', '{{}}', '{days_ago(999)}')"
    )

    pruned = run(database)

    assert pruned == {
        "events": 3,
        "statuses": 1,
        "claims": 1,
        "outbox": 1,
        "dead_letters": 1,
        "finished": True,
        "left": 0,
    }
    assert {table: store.value(sql) for table, sql in COUNTS.items()} == {
        "events": 3,
        "statuses": 1,
        "claims": 1,
        "outbox": 2,
        "dead_letters": 1,
    }


def test_events_of_one_instant_go_together(store: Any, database: Database) -> None:
    add_events(store, 25, received=40, apart_us=0)
    before = store.rows(TOTALS)

    pruned = run(database)

    assert (pruned["events"], pruned["finished"]) == (25, True)
    assert store.rows(TOTALS) == before


def test_an_event_that_somebody_holds_ends_the_run_between_two_batches(store: Any, database: Database) -> None:
    add_events(store, 12, received=40)
    before = store.rows(TOTALS)
    database.execute("set lock_timeout = '50ms'")
    with store.owner.transaction() as tx:
        tx.execute("select 1 from email_events where event_id like '%-12' for update")

        with pytest.raises(TransientStoreError):
            run(database)

    assert store.rows(TOTALS) == before
    assert store.value(COUNTS["events"]) == 2
    assert run(database)["events"] == 2


def test_an_event_that_changes_meanwhile_is_not_counted_and_left(store: Any, database: Database) -> None:
    add_events(store, 5, received=40)
    before = store.rows(TOTALS)

    def prune_what_changes() -> None:
        with database.transaction() as tx:
            tx.execute(ONE_SNAPSHOT)
            tx.execute("select 1 from daily_totals")
            store.rows("update email_events set reason = 'changed' where event_id like '%-1'")
            tx.run("prune_events", {"floor": "-infinity", "cutoff": NOW.isoformat(), "batch": 10})

    with pytest.raises(TransientStoreError):
        prune_what_changes()

    assert store.rows(TOTALS) == before
    assert store.value(COUNTS["events"]) == 5


def test_an_empty_store_is_nothing_to_prune(database: Database) -> None:
    assert run(database) == {**dict.fromkeys(DEFAULT_DAYS, 0), "finished": True, "left": 0}


def test_what_is_left_is_counted_in_every_table_but_not_for_ever(
    store: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune_step, "LEFT_ROWS", 7)
    add_events(store, 12, received=40)
    add_events(store, 3, received=1, name="new")
    store.rows(
        "insert into claims (claim_key, request_hash, source, created_at)"
        f" select n, 'h', 's', '{days_ago(31)}' from generate_series(1, 2) n"
    )

    suppressed = run(database, remaining_ms=lambda: TIME_GUARD_MS)

    assert (suppressed["finished"], suppressed["left"]) == (False, 7 + 2)


def test_without_time_to_count_nothing_is_said_of_what_is_left(store: Any, database: Database) -> None:
    add_events(store, 12, received=40)

    suppressed = run(database, remaining_ms=lambda: prune_step.LEFT_GUARD_MS - 1)

    assert (suppressed["finished"], suppressed["left"]) == (False, None)


def test_a_count_that_fails_does_not_fail_the_run(
    store: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_events(store, 12, received=40)
    monkeypatch.setattr(prune_step, "LEFT_LIMIT", "set local statement_timeout = 1; select pg_sleep(1)")

    assert run(database, remaining_ms=lambda: TIME_GUARD_MS)["left"] is None


def test_what_would_be_deleted_is_shown_and_kept(store: Any, order: Any) -> None:
    now = datetime.now(UTC)
    for days, name in ((31, "old"), (40, "older"), (1, "new")):
        at = (now - timedelta(days=days)).isoformat()
        store.rows(
            "insert into email_events (event_id, fingerprint, source, provider, kind, type, scope, occurred_at,"
            f" received_at, machine, payload) values ('{name}', 'f', 's', 'p', 'k', 'delivered', '', '{at}', '{at}',"
            " false, '{}')"
        )

    shown = {row["table"]: row for row in order("prune.count")["tables"]}

    assert {table: row["days"] for table, row in shown.items()} == DEFAULT_DAYS
    assert {table: row["rows"] for table, row in shown.items()} == {**dict.fromkeys(DEFAULT_DAYS, 0), "events": 2}
    assert datetime.fromisoformat(shown["events"]["oldest_at"]) == now - timedelta(days=40)
    assert shown["statuses"]["oldest_at"] is None
    assert store.value(COUNTS["events"]) == 3
