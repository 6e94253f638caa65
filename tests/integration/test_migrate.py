"""migrate: numbered files that add up to schema.sql, each applied once, whoever calls and however often."""

from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from local.postgres import PostgresServer
from local.testing.handlers import Context, load_handler
from mailfold.errors import DataRejected, MigrationError, TransientStoreError
from mailfold.store import migrate as migrations_module
from mailfold.store.connection import Database
from mailfold.store.migrate import Migration, apply_migrations, migrations
from mailfold.store.queries import query
from mailfold.store.rights import login_roles

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


@pytest.fixture
def unbounded(store: Any) -> Any:
    """Roles are the server's: their limits are taken off again."""
    yield store
    for role in login_roles():
        store.rows(f"alter role {role} connection limit -1")


def test_each_role_gets_its_connection_limit_and_is_refused_beyond_it(unbounded: Any) -> None:
    apply_migrations(unbounded.owner, connection_limits={"mailfold_watch": 2})
    first, second, third = (Database(unbounded.url("mailfold_watch")) for _ in range(3))
    for database in (first, second):
        database.execute("select 1")

    with pytest.raises(TransientStoreError, match="53300"):
        third.execute("select 1")

    first.close()
    second.close()
    other = Database(unbounded.url("mailfold_process"))
    assert other.execute("select 1") == [[1]]
    other.close()


def test_a_limit_that_is_not_given_stays_as_it_is(unbounded: Any) -> None:
    apply_migrations(unbounded.owner, connection_limits={"mailfold_watch": 2})
    apply_migrations(unbounded.owner, connection_limits={"mailfold_query": 7})
    apply_migrations(unbounded.owner)

    limits = dict(unbounded.rows("select rolname, rolconnlimit from pg_roles where rolname ~ '^mailfold_'"))
    assert (limits["mailfold_watch"], limits["mailfold_query"], limits["mailfold_process"]) == (2, 7, -1)


def test_the_function_passes_on_the_limits_that_it_is_told(unbounded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"DATABASE_URL": unbounded.url("postgres"), "CONNECTION_LIMITS": '{"mailfold_sweep": 3}'}
    module = load_handler("migrate", monkeypatch, told)

    module.handler({}, Context())

    module.database.close()
    assert unbounded.value("select rolconnlimit from pg_roles where rolname = 'mailfold_sweep'") == 3


@pytest.fixture
def rds_like(tmp_path: Path) -> Any:
    """A server on which the owner is no superuser, as on RDS."""
    with PostgresServer(tmp_path / "rds", settings={"shared_buffers": "16MB"}) as server:
        master = Database(server.url())
        master.execute("create role rds_iam; create role mailfold_owner login createrole createdb")
        master.execute("grant rds_iam to mailfold_owner with admin option")
        master.execute("create database mailfold owner mailfold_owner")
        master.close()
        yield server


def test_an_owner_that_is_no_superuser_can_migrate(rds_like: PostgresServer) -> None:
    limits = dict.fromkeys(login_roles(), 3)
    owner = Database(rds_like.url("mailfold", "mailfold_owner"))

    applied = [apply_migrations(owner, connection_limits=limits) for _ in range(2)]

    temporary = owner.execute(
        "select rolname from pg_roles where rolname ~ '^mailfold_'"
        " and has_database_privilege(oid, current_database(), 'temporary') order by 1"
    )
    bounded = owner.execute("select rolname, rolconnlimit from pg_roles where rolname ~ '^mailfold_' and rolcanlogin")
    owner.close()
    assert applied == [[migration.name for migration in migrations()], []]
    assert temporary == [["mailfold_owner"]]
    assert dict(bounded) == {**limits, "mailfold_owner": -1}


def test_a_database_from_before_loses_the_rights_that_are_taken_back(rds_like: PostgresServer) -> None:
    owner = Database(rds_like.url("mailfold", "mailfold_owner"))
    apply_migrations(owner)
    owner.execute("create database older")
    older = Database(rds_like.url("older", "mailfold_owner"))
    with older.transaction() as tx:
        tx.execute(migrations_module._LEDGER)
        for migration in migrations()[:5]:
            migrations_module._apply(tx, migration)
        tx.execute("grant select, delete, update (published_at) on outbox to mailfold_prune")
        tx.execute("grant select, update on outbox to mailfold_operate")
        tx.execute("grant mailfold_operate to mailfold_query with inherit false, set true")

    applied = apply_migrations(older)

    kept = older.execute(
        "select r, p from unnest(array['mailfold_prune', 'mailfold_operate']) r, unnest(array['delete', 'update']) p"
        " where has_table_privilege(r, 'outbox', p)"
    )
    kept += older.execute("select pg_has_role('mailfold_query', 'mailfold_operate', 'set') where true")
    older.close()
    owner.close()
    assert applied == ["0006_security.sql"]
    assert kept == [[False]]
