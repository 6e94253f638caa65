"""Locks that guard no row: only their taker can take them, so that no role can make another wait."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import mailfold
from mailfold.errors import StoreError, TransientStoreError
from mailfold.store.connection import Database
from mailfold.store.migrate import apply_migrations
from mailfold.store.rights import login_roles
from tests.integration.test_publish_order import fold

#: The numbers that were locked once, and whatever else a role may think of.
NUMBERS = (7245361902, 7245361903, 7245361904)
CHANGE = 'insert into outbox_staging (changes) values (\'[{"topic": "t", "key": "k", "body": {}}]\')'
ATTACKS = {
    "advisory lock of a transaction": "; ".join(f"select pg_advisory_xact_lock({number})" for number in NUMBERS),
    "advisory lock of a session": "; ".join(f"select pg_advisory_lock({number})" for number in NUMBERS),
    "gate": "lock table commit_gate in share update exclusive mode",
    "gate, read": "lock table commit_gate in access share mode",
    "outbox_staging": "lock table outbox_staging in share mode",
    "outbox": "lock table outbox in share mode",
    "turn": "lock table publish_turn in exclusive mode",
    "turn, row": "select from publish_turn for update",
    "ledger": "lock table schema_migrations in share mode",
    "constraints": f"{CHANGE}; set constraints all immediate",
    "one constraint": f"{CHANGE}; set constraints announce immediate",
    "constraints first": f"set constraints all immediate; {CHANGE}",
}


@pytest.fixture
def attacker(request: pytest.FixtureRequest, store: Any) -> Iterator[Database]:
    """A connection in the role that the test names."""
    database = Database(store.url(request.param))
    yield database
    database.close()


@pytest.fixture
def process(store: Any) -> Iterator[Database]:
    """A connection in the role of process that waits for no lock."""
    database = Database(store.url("mailfold_process"))
    database.execute("set lock_timeout = '500ms'")
    yield database
    database.close()


@pytest.fixture
def publish(store: Any) -> Iterator[Database]:
    """A connection in the role of publish."""
    database = Database(store.url("mailfold_publish"))
    yield database
    database.close()


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("attacker", login_roles(), indirect=True)
def test_no_role_can_stall_a_commit_that_announces_nor_publish_nor_migrate(
    attacker: Database, process: Database, publish: Database, store: Any, attack: str
) -> None:
    attacker.execute("begin")
    with suppress(StoreError):
        attacker.execute(ATTACKS[attack])

    with process.transaction() as tx:
        fold(tx, "a")
    with publish.transaction() as tx:
        has_turn = tx.run("publish_alone", {}) == [[True]]
    store.rows("set lock_timeout = '500ms'")
    assert apply_migrations(store.owner) == []

    assert store.value("select count(*) from outbox") == 1
    is_publish = attacker.execute("rollback; select session_user")[0][0] == "mailfold_publish"
    assert has_turn is not (is_publish and attack == "turn, row")


@pytest.mark.parametrize("early", ["set constraints all immediate", "set constraints announce immediate"])
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_changes_are_announced_by_commit_only(process: Database, store: Any, early: str, first: bool) -> None:
    statements = f"{early}; {CHANGE}" if first else f"{CHANGE}; {early}"

    with pytest.raises(TransientStoreError, match="55000"), process.transaction() as tx:
        tx.execute(statements)

    assert store.value("select count(*) from outbox") == 0


def test_nothing_slow_can_be_left_for_commit_behind_the_lock(process: Database, store: Any) -> None:
    with pytest.raises(TransientStoreError, match="55000"), process.transaction() as tx:
        tx.execute(f"declare slow cursor with hold for select pg_sleep(3600); {CHANGE}")

    assert store.value("select count(*) from outbox") == 0


def test_of_two_runs_of_publish_one_has_the_turn(publish: Database, store: Any) -> None:
    other = publish.sibling()
    with publish.transaction() as tx:
        assert tx.run("publish_alone", {}) == [[True]]
        with other.transaction() as second:
            assert second.run("publish_alone", {}) == [[False]]
    with other.transaction() as second:
        assert second.run("publish_alone", {}) == [[True]]
    other.close()


def test_no_announcement_is_left_behind(process: Database, store: Any) -> None:
    with process.transaction() as tx:
        fold(tx, "a")
        fold(tx, "b", recipient="bob@example.com")

    assert store.rows("select body ->> 'recipient' from outbox order by outbox_id") == [
        ["ann@example.com"],
        ["bob@example.com"],
    ]
    assert store.value("select count(*) from outbox_staging") == 0


def test_a_row_of_nothing_is_no_announcement(process: Database, store: Any) -> None:
    with process.transaction() as tx:
        tx.execute("insert into outbox_staging (changes) values ('null')")

    assert store.value("select (select count(*) from outbox) + (select count(*) from outbox_staging)") == 0


def test_no_statement_takes_an_advisory_lock() -> None:
    package = Path(mailfold.__file__).parent
    migrations = package / "store/migrations"
    texts = {path: path.read_text() for path in package.rglob("*.*") if path.suffix in {".py", ".sql"}}

    assert len(texts) > 100
    assert [path.name for path, text in texts.items() if "pg_advisory" in text or "pg_try_advisory" in text] == [
        path.name for path in texts if path == migrations / "0004_commit_order.sql"
    ]
