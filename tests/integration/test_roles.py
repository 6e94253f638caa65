"""Least privilege: each function's role can do its step and is refused everything else."""

import re
from pathlib import Path
from typing import Any

import pytest

from mailfold.errors import TransientStoreError
from mailfold.store.connection import PATIENCE_S, Database

FORBIDDEN = {
    "mailfold_process": [
        "delete from email_events",
        "delete from message_status",
        "delete from suppressions",
        "delete from claims",
        "delete from dead_letters",
        "update dead_letters set reason = ''",
        "truncate email_events",
        "select * from daily_totals",
        "insert into daily_totals values (current_date, 's', 't', '', 1)",
        "select * from outbox",
        "insert into outbox (topic, key, body) values ('t', 'k', '{}')",
        "select * from outbox_staging",
        "delete from outbox_staging",
        "update outbox set published_at = now()",
        "select * from schema_migrations",
        "update status_ranks set rank = 1",
        "create table mine (id integer)",
        "alter table email_events drop column payload",
        "drop table email_events",
        "set role postgres",
    ],
    "mailfold_query": [
        "insert into email_events (event_id) values ('x')",
        "update email_events set recipient = 'x'",
        "delete from email_events",
        "delete from message_status",
        "delete from suppressions",
        "update suppressions set address = 'x'",
        "update suppressions set last_suppress_at = null",
        "delete from dead_letters",
        "select * from claims",
        "select * from outbox",
        "delete from outbox",
        "select * from erasure_key",
        "select * from audit_log",
        "delete from audit_log",
        "update audit_log set by_whom = 'somebody'",
        "insert into api_tokens (name) values ('x')",
        "update api_tokens set scopes = array['operate']",
        "update api_tokens set revoked_at = null",
        "delete from api_tokens",
        "truncate suppressions",
        "create table mine (id integer)",
        "set role mailfold_operate",
        "set role postgres",
    ],
    "mailfold_prune": [
        "insert into email_events (event_id) values ('x')",
        "update email_events set event_id = 'x'",
        "update email_events set payload = '{}'",
        "update message_status set first_at = now()",
        "update claims set result = '{}'",
        "insert into claims (claim_key, request_hash, source) values ('k', 'h', 's')",
        "select * from suppressions",
        "delete from suppressions",
        "delete from daily_totals",
        "delete from schema_migrations",
        "insert into outbox (topic, key, body) values ('t', 'k', '{}')",
        "truncate email_events",
        "create table mine (id integer)",
        "set role postgres",
    ],
    "mailfold_publish": [
        "insert into outbox (topic, key, body) values ('t', 'k', '{}')",
        "update outbox set body = '{}'",
        "update outbox set key = 'k'",
        "delete from outbox",
        "select * from outbox_staging",
        "insert into outbox_staging (changes) values ('[]')",
        "select * from email_events",
        "select * from message_status",
        "select * from suppressions",
        "select * from dead_letters",
        "truncate outbox",
        "create table mine (id integer)",
        "set role postgres",
    ],
}

#: Whoever asks over HTTP folds dead letters again under this role.
FORBIDDEN_TO_REDRIVE = [
    "select * from api_tokens",
    "insert into api_tokens (name) values ('x')",
    "update api_tokens set scopes = array['operate']",
    "delete from api_tokens",
    "delete from email_events",
    "delete from message_status",
    "delete from suppressions",
    "delete from claims",
    "update suppressions set manual_effect = 'lift'",
    "select * from audit_log",
    "delete from audit_log",
    "select * from outbox",
    "update outbox set body = '{}'",
    "select * from erasure_key",
    "select erased_forms(array['x'])",
    "truncate email_events",
    "create table mine (id integer)",
    "set role mailfold_operate",
]


def answer(database: Database, statement: str) -> str:
    try:
        database.execute(statement)
    except TransientStoreError as refusal:
        return str(refusal)
    return "allowed"


@pytest.mark.parametrize("role", FORBIDDEN)
def test_a_role_is_refused_what_its_step_does_not_need(store: Any, role: str) -> None:
    database = Database(store.url(role))

    answers = {statement: answer(database, statement) for statement in FORBIDDEN[role]}

    database.close()
    assert answers == dict.fromkeys(FORBIDDEN[role], "Postgres answered SQLSTATE 42501")


@pytest.mark.parametrize("role", FORBIDDEN)
def test_a_role_cannot_hold_locks_or_run_for_ever(store: Any, role: str) -> None:
    database = Database(store.url(role))

    limits = {
        name: database.execute(f"show {name}")[0][0]
        for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    }

    database.close()
    assert "0" not in limits.values()


def test_the_roles_are_no_superusers_and_own_nothing(store: Any) -> None:
    powers = store.rows(
        "select rolname from pg_roles where rolname like 'mailfold%' and "
        "(rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or rolreplication)"
    )
    owned = store.rows(
        "select relname from pg_class join pg_roles r on r.oid = relowner where r.rolname like 'mailfold%'"
    )

    assert (powers, owned) == ([], [])


@pytest.mark.parametrize("role", sorted(FORBIDDEN))
def test_the_connection_outlasts_every_statement_of_its_role(store: Any, role: str) -> None:
    step = role.removeprefix("mailfold_")
    handler = (Path(__file__).parents[2] / f"functions/{step}/handler.py").read_text()
    given = re.search(r"patience_s=(\d+)", handler)
    limit = store.value(
        "select extract(epoch from split_part(setting, '=', 2)::interval) from pg_roles, unnest(rolconfig) as setting"
        f" where rolname = '{role}' and setting like 'statement_timeout=%'"
    )

    assert (int(given[1]) if given else PATIENCE_S) > limit


#: Each login role beside every role that it is or may become, by SET ROLE or by inheritance.
BECOMES = """
    select l.rolname as login, r.rolname as role, r.oid from pg_roles l join pg_roles r
        on r.oid = l.oid or pg_has_role(l.oid, r.oid, 'member') or pg_has_role(l.oid, r.oid, 'set')
    where l.rolcanlogin and not l.rolsuper
"""


def test_no_role_but_that_of_operate_can_make_or_change_a_token(store: Any) -> None:
    rights = store.rows(
        f"select distinct b.login, p.r from ({BECOMES}) b,"
        " unnest(array['insert', 'update', 'delete', 'truncate']) p (r)"
        " where case when p.r in ('insert', 'update') then has_any_column_privilege(b.oid, 'api_tokens', p.r)"
        " else has_table_privilege(b.oid, 'api_tokens', p.r) end order by 1, 2"
    )
    columns = store.rows(
        f"select distinct a.attname from ({BECOMES}) b, pg_attribute a where b.login = 'mailfold_query'"
        " and a.attrelid = 'api_tokens'::regclass and a.attnum > 0"
        " and has_column_privilege(b.oid, a.attrelid, a.attnum, 'update')"
    )

    assert rights == [["mailfold_operate", "insert"], ["mailfold_operate", "update"], ["mailfold_query", "update"]]
    assert columns == [["last_used_at"]]


def test_only_prune_and_operate_can_delete_what_is_folded(store: Any) -> None:
    rights = store.rows(
        f"select distinct b.login, t.name from ({BECOMES}) b,"
        " unnest(array['email_events', 'message_status', 'suppressions']) t (name)"
        " where has_table_privilege(b.oid, t.name, 'delete') or has_table_privilege(b.oid, t.name, 'truncate')"
        " order by 1, 2"
    )

    assert rights == [
        ["mailfold_operate", "email_events"],
        ["mailfold_operate", "message_status"],
        ["mailfold_operate", "suppressions"],
        ["mailfold_prune", "email_events"],
        ["mailfold_prune", "message_status"],
    ]


def test_a_role_becomes_no_other_than_the_file_says(store: Any) -> None:
    becomes = store.rows(f"select login, role from ({BECOMES}) b where login <> role")

    assert becomes == [["mailfold_query", "mailfold_redrive"]]
    assert store.value("select rolcanlogin from pg_roles where rolname = 'mailfold_redrive'") is False


def test_query_as_redrive_is_refused_what_a_redrive_does_not_need(store: Any) -> None:
    database = Database(store.url("mailfold_query"))
    database.execute("set role mailfold_redrive")

    answers = {statement: answer(database, statement) for statement in FORBIDDEN_TO_REDRIVE}

    database.close()
    assert answers == dict.fromkeys(FORBIDDEN_TO_REDRIVE, "Postgres answered SQLSTATE 42501")
