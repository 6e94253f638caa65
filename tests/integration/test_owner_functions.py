"""Functions that run as the owner: no role can put code of its own in their way."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from mailfold.errors import StoreError
from mailfold.store.connection import Database
from mailfold.store.rights import login_roles

#: Leaves a mark where it runs as somebody else than the role that logged in.
TRAP = """
    create function pg_temp.trap() returns boolean language plpgsql as $$
    begin
        if current_user <> session_user then
            execute 'create table if not exists public.escalated ()';
        end if;
        return true;
    end
    $$;
"""

#: What a function that runs as the owner may name, each in the way of the real one.
SHADOWS = {
    "text": "create domain pg_temp.text as pg_catalog.text check (pg_temp.trap())",
    "jsonb": "create domain pg_temp.jsonb as pg_catalog.jsonb check (pg_temp.trap())",
    "bigint": "create domain pg_temp.int8 as pg_catalog.int8 check (pg_temp.trap())",
    "timestamptz": "create domain pg_temp.timestamptz as pg_catalog.timestamptz check (pg_temp.trap())",
    "table": """
        create temporary table outbox (topic text, key text, body jsonb check (pg_temp.trap()));
        create temporary table outbox_staging (staging_id bigint, changes jsonb);
        create temporary table erasure_key (key bytea);
        create temporary table commit_gate ()
    """,
    "function": """
        create function pg_temp.jsonb_to_recordset(pg_catalog.jsonb) returns setof record language plpgsql
            as $$ begin perform pg_temp.trap(); end $$;
        create function pg_temp.lower(pg_catalog.text) returns pg_catalog.text language sql
            return case when pg_temp.trap() then $1 end;
        create function pg_temp.sha256(pg_catalog.bytea) returns pg_catalog.bytea language sql
            return case when pg_temp.trap() then $1 end
    """,
    "operator": """
        create function pg_temp.same(pg_catalog.int8, pg_catalog.int8) returns boolean language sql
            return pg_temp.trap();
        create function pg_temp.joined(pg_catalog.text, pg_catalog.text) returns pg_catalog.text language sql
            return case when pg_temp.trap() then $1 end;
        create operator pg_temp.= (leftarg = pg_catalog.int8, rightarg = pg_catalog.int8, function = pg_temp.same);
        create operator pg_temp.|| (leftarg = pg_catalog.text, rightarg = pg_catalog.text, function = pg_temp.joined)
    """,
}

#: Every way in which a role has a function of the owner run.
CALLS = [
    'insert into public.outbox_staging (changes) values (\'[{"topic": "t", "key": "k", "body": {}}]\')',
    "select public.erased_form('ann@example.com')",
    "select public.erased_forms(array['ann@example.com'])",
    "select public.prune_outbox(now(), 1)",
]

ROLES = login_roles()


@pytest.fixture
def attacker(request: pytest.FixtureRequest, store: Any) -> Iterator[Database]:
    """A connection in the role that the test names."""
    database = Database(store.url(request.param))
    yield database
    database.close()


def call_everything(attacker: Database) -> int:
    """Call each function of the owner with the shadows first in the path; return how many answered."""
    answered = 0
    for path in ("pg_temp, public, pg_catalog", '"$user", public'):
        for call in CALLS:
            with suppress(StoreError):
                attacker.execute(f"begin; set local search_path = {path}; {call}; commit")
                answered += 1
            attacker.execute("rollback")
    return answered


def test_every_function_of_the_owner_looks_for_names_in_pg_temp_last(store: Any) -> None:
    found = store.rows(
        "select p.oid::regprocedure::text, coalesce(array_to_string(p.proconfig, ';'), '') from pg_proc p"
        " where p.prosecdef and p.pronamespace = 'public'::regnamespace order by 1"
    )

    assert "announce()" in dict(found)
    assert {path for _, path in found} == {"search_path=pg_catalog, public, pg_temp"}


def test_no_function_of_the_owner_may_be_called_by_everybody(store: Any) -> None:
    open_to_all = store.rows(
        "select p.oid::regprocedure::text from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a"
        " where p.prosecdef and p.pronamespace = 'public'::regnamespace and a.grantee = 0"
    )

    assert open_to_all == []


def test_only_the_owner_may_have_temporary_objects(store: Any) -> None:
    may = store.rows(
        "select r.rolname from pg_roles r, pg_database d where d.datname = current_database()"
        " and not r.rolsuper and r.oid <> d.datdba and has_database_privilege(r.oid, d.oid, 'temporary')"
    )

    assert may == []


def test_no_role_may_touch_a_large_object(store: Any) -> None:
    functions = store.value(
        "select count(*) from pg_proc"
        " where proname ~ '^(lo_|loread$|lowrite$)' and pronamespace = 'pg_catalog'::regnamespace"
    )
    may = store.rows(
        "select r.rolname, p.oid::regprocedure::text from pg_roles r, pg_proc p"
        " where r.rolname ~ '^mailfold_' and p.pronamespace = 'pg_catalog'::regnamespace"
        " and p.proname ~ '^(lo_|loread$|lowrite$)' and has_function_privilege(r.oid, p.oid, 'execute')"
    )

    assert functions > 15
    assert may == []


@pytest.mark.parametrize("attacker", ROLES, indirect=True)
def test_a_role_can_put_nothing_in_the_way(attacker: Database, store: Any) -> None:
    for shadow in ("create temporary table mine (id integer)", TRAP, *SHADOWS.values()):
        with pytest.raises(StoreError, match="42501"):
            attacker.execute(shadow)
    call_everything(attacker)

    assert store.value("select to_regclass('public.escalated')::text") is None


@pytest.mark.parametrize("shadow", SHADOWS)
@pytest.mark.parametrize("attacker", ROLES, indirect=True)
def test_a_shadow_in_pg_temp_never_runs_as_the_owner(attacker: Database, store: Any, shadow: str) -> None:
    store.rows(f"grant temporary on database {store.name} to public")
    attacker.execute(TRAP)
    attacker.execute(SHADOWS[shadow])

    call_everything(attacker)

    assert store.value("select to_regclass('public.escalated')::text") is None


def test_the_functions_of_the_owner_do_answer(store: Any) -> None:
    """The calls of these tests are real ones: some role gets an answer to each."""
    answered = 0
    for role in ROLES:
        database = Database(store.url(role))
        answered += call_everything(database)
        database.close()

    assert answered > 2 * len(CALLS)
