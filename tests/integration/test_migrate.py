"""migrate: numbered files that add up to schema.sql, each applied once, whoever calls and however often."""

from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

import pytest

from local.testing.handlers import Context, load_handler
from mailfold.errors import DataRejected, MigrationError
from mailfold.store import migrate as migrations_module
from mailfold.store.connection import Database
from mailfold.store.migrate import Migration, apply_migrations, migrations
from mailfold.store.queries import query

CATALOGS = {
    "columns": """
        select table_name, column_name, ordinal_position, data_type, is_nullable, column_default, collation_name,
            is_identity, identity_generation
        from information_schema.columns where table_schema = 'public' order by 1, 3""",
    "constraints": """
        select conrelid::regclass::text, conname, pg_get_constraintdef(oid)
        from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2""",
    "indexes": "select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 1, 2",
    "views": "select viewname, definition from pg_views where schemaname = 'public' order by 1",
    "functions": """
        select proname, pg_get_functiondef(oid) from pg_proc
        where pronamespace = 'public'::regnamespace order by 1""",
    "grants": """
        select c.relname, coalesce(a.attname, ''), x.grantee::regrole::text, x.privilege_type
        from pg_class c
        cross join lateral (
            select null as attname, acl.* from aclexplode(c.relacl) acl
            union all
            select att.attname, acl.* from pg_attribute att, aclexplode(att.attacl) acl where att.attrelid = c.oid
        ) a
        cross join lateral (select a.grantee, a.privilege_type) x
        where c.relnamespace = 'public'::regnamespace and x.grantee <> 0 order by 1, 2, 3, 4""",
    "storage": """
        select relname, relkind::text, array_to_string(reloptions, ',') from pg_class
        where relnamespace = 'public'::regnamespace order by 1""",
    "ranks": "select * from status_ranks order by rank",
}


@pytest.fixture
def empty(empty_database: str) -> Any:
    """A database without anything in it."""
    database = Database(empty_database)
    yield database
    database.close()


def catalogs(database: Database) -> dict[str, list[list[Any]]]:
    return {name: database.execute(sql) for name, sql in CATALOGS.items()}


def test_all_migrations_together_are_the_schema(empty: Database, store: Any) -> None:
    empty.execute(migrations_module._LEDGER)
    empty.execute(files("mailfold.store").joinpath("schema.sql").read_text("utf-8"))
    empty.execute(query("roles"))

    wanted, made = catalogs(empty), catalogs(store.owner)

    assert all(wanted.values())
    assert made == wanted


def test_migrating_twice_changes_nothing(empty: Database) -> None:
    first = apply_migrations(empty)
    before = catalogs(empty), empty.execute("select * from schema_migrations")

    second = apply_migrations(empty)

    assert first == [migration.name for migration in migrations()]
    assert second == []
    assert before == (catalogs(empty), empty.execute("select * from schema_migrations"))


def test_a_file_that_was_changed_after_it_was_applied_is_refused(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    [first, *rest] = migrations()
    changed = Migration(version=first.version, name=first.name, sql=first.sql + "\n-- improved")
    monkeypatch.setattr(migrations_module, "migrations", lambda: [changed, *rest])

    with pytest.raises(MigrationError, match=f"{first.name} was changed"):
        apply_migrations(store.owner)


def test_a_database_newer_than_the_package_is_left_alone_so_that_a_deploy_can_roll_back(store: Any) -> None:
    store.rows("insert into schema_migrations (version, name, digest) values (9999, '9999_future.sql', 'd')")
    store.rows("revoke select on email_events from mailfold_process")

    applied = apply_migrations(store.owner)

    assert applied == []
    granted = store.value("select has_table_privilege('mailfold_process', 'email_events', 'select')")
    store.rows("grant select on email_events to mailfold_process")
    assert granted is False


def test_a_migration_that_fails_leaves_nothing(empty: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Migration(version=9998, name="9998_broken.sql", sql="create table half (id integer); select 1 / 0")
    monkeypatch.setattr(migrations_module, "migrations", lambda: [*migrations(), broken])

    with pytest.raises(DataRejected, match="SQLSTATE 22012"):
        apply_migrations(empty)

    assert empty.execute("select relname from pg_class where relnamespace = 'public'::regnamespace") == []


def test_deploys_at_the_same_moment_migrate_once(empty_database: str) -> None:
    def deploy(_: int) -> list[str]:
        database = Database(empty_database)
        try:
            return apply_migrations(database)
        finally:
            database.close()

    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(deploy, range(4)))

    assert sorted(applied, key=len) == [[], [], [], [migration.name for migration in migrations()]]


def test_the_numbers_of_the_files_have_no_gap_and_no_twin() -> None:
    assert [migration.version for migration in migrations()] == list(range(1, len(migrations()) + 1))


def test_the_function_itself_migrates(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_handler("migrate", monkeypatch, {"DATABASE_URL": empty_database})

    answers = [module.handler({}, Context()), module.handler({}, Context())]

    module.database.close()
    assert answers == [{"applied": [migration.name for migration in migrations()]}, {"applied": []}]
