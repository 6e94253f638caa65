"""What doctor asks of the database, through the real operate function."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from mailfold.probe import PROBE_ADDRESS
from mailfold.store.queries import query
from mailfold.store.rights import Right, limits, login_roles, members, rights
from tests.integration.conftest import Store, Workshop
from tests.support.records import envelope, raw, record

Order = Callable[..., dict[str, Any]]

ROLE_PROBLEMS = [
    (
        "revoke insert on outbox_staging from mailfold_process",
        "grant insert on outbox_staging to mailfold_process",
        {"problem": "right", "role": "mailfold_process", "right": "insert", "object": "outbox_staging", "column": ""},
    ),
    (
        "revoke update (published_at) on outbox from mailfold_publish",
        "grant update (published_at) on outbox to mailfold_publish",
        {
            "problem": "right",
            "role": "mailfold_publish",
            "right": "update",
            "object": "outbox",
            "column": "published_at",
        },
    ),
    (
        "revoke execute on function erased_form(text) from mailfold_operate",
        "grant execute on function erased_form(text) to mailfold_operate",
        {
            "problem": "right",
            "role": "mailfold_operate",
            "right": "execute",
            "object": "erased_form(text)",
            "column": "",
        },
    ),
    (
        "grant delete on suppressions to mailfold_process",
        "revoke delete on suppressions from mailfold_process",
        {"problem": "excess", "role": "mailfold_process", "right": "delete", "object": "suppressions"},
    ),
    (
        "alter role mailfold_watch reset lock_timeout",
        "alter role mailfold_watch set lock_timeout = '2s'",
        {"problem": "limit", "role": "mailfold_watch", "name": "lock_timeout", "value": "2s"},
    ),
    (
        "grant mailfold_operate to mailfold_query with inherit false, set true",
        "revoke mailfold_operate from mailfold_query",
        {"problem": "excess member", "role": "mailfold_query", "taken": "mailfold_operate"},
    ),
    (
        "revoke mailfold_redrive from mailfold_query",
        "grant mailfold_redrive to mailfold_query with inherit false, set true",
        {"problem": "member", "role": "mailfold_query", "taken": "mailfold_redrive"},
    ),
    (
        "grant insert on api_tokens to mailfold_redrive",
        "revoke insert on api_tokens from mailfold_redrive",
        {"problem": "excess", "role": "mailfold_redrive", "right": "insert", "object": "api_tokens"},
    ),
    (
        "alter role mailfold_redrive login",
        "alter role mailfold_redrive nologin",
        {"problem": "login", "role": "mailfold_redrive"},
    ),
    (
        "alter role mailfold_sweep nologin",
        "alter role mailfold_sweep login",
        {"problem": "role", "role": "mailfold_sweep"},
    ),
]


def test_every_line_of_the_roles_is_read() -> None:
    text = query("roles")

    assert {right.role for right in rights()} == set(re.findall(r"^grant .* to (\w+);$", text, re.MULTILINE))
    assert len(members()) == len(re.findall(r"^grant \w+ to ", text, re.MULTILINE)) > 0
    assert {member.role for member in members()}.isdisjoint(login_roles())
    assert len(limits()) == len(re.findall(r"^alter role", text, re.MULTILINE))
    assert Right(role="mailfold_watch", right="select", object="email_events", column="type") in rights()
    assert Right(role="mailfold_prune", right="delete", object="claims") in rights()


def test_a_migrated_database_is_well(order: Order) -> None:
    found = order("doctor.store")

    assert found["migrations"] == {"missing": [], "edited": [], "unknown": []}
    assert found["roles"] == found["invalid_indexes"] == []
    assert found["outbox_seconds"] is None
    assert found["oldest_event_days"] is None
    assert found["connections"] < found["most_connections"]
    assert set(found["sources"].values()) == {None}


@pytest.fixture
def server_wide(store: Store) -> Iterator[Callable[[str, str], None]]:
    """Roles are the server's: what a test does to one is undone even when it fails."""
    undone: list[str] = []

    def change(sql: str, undo: str) -> None:
        undone.append(undo)
        store.rows(sql)

    yield change
    for sql in undone:
        store.rows(sql)


@pytest.mark.parametrize(("change", "undo", "deviation"), ROLE_PROBLEMS, ids=[row[0] for row in ROLE_PROBLEMS])
def test_a_role_that_is_not_as_the_file_makes_it_is_told(
    order: Order, server_wide: Callable[[str, str], None], change: str, undo: str, deviation: dict[str, str]
) -> None:
    server_wide(change, undo)

    assert order("doctor.store")["roles"] == [deviation]


def test_migrations_are_held_against_the_files(order: Order, store: Store) -> None:
    store.rows("delete from schema_migrations where version = 3")
    store.rows("update schema_migrations set digest = 'other' where version = 1")
    store.rows("insert into schema_migrations (version, name, digest) values (9000, 'newer', 'x')")

    found = order("doctor.store")["migrations"]

    assert found == {"missing": ["0003_operations.sql"], "edited": ["0001_event_store.sql"], "unknown": ["9000"]}


def test_an_index_that_is_not_valid_is_told(order: Order, store: Store) -> None:
    store.rows("update pg_index set indisvalid = false where indexrelid = 'dead_letters_group'::regclass")

    assert order("doctor.store")["invalid_indexes"] == ["dead_letters_group"]


def probe(marker: str, **more: str) -> dict[str, Any]:
    made = raw(f"evt-{marker}", **more)
    made["data"] |= {"recipient": PROBE_ADDRESS, "note": marker}
    return made


def test_a_probe_is_found_and_leaves_nothing_behind(order: Order, store: Store, workshop: Workshop) -> None:
    marker = f"doctor-{uuid4().hex}"
    workshop.process(record(envelope(raw("e1"), probe(marker))))

    assert [found["marker"] for found in order("doctor.probe.find", markers=[marker])["probes"]] == [marker]
    assert order("doctor.probe.remove", markers=[marker]) == {"removed": 1}

    assert order("doctor.probe.find", markers=[marker]) == {"probes": []}
    assert store.rows("select recipient from email_events") == [["ann@example.com"]]
    assert store.rows("select recipient from message_status") == [["ann@example.com"]]
    assert store.rows("select body ->> 'recipient' from outbox where published_at is null") == [["ann@example.com"]]
    assert store.rows("select by_whom, action from audit_log") == [["ann", "doctor.probe.remove"]]


def test_only_probes_of_this_run_and_forgotten_ones_are_removed(order: Order, store: Store, workshop: Workshop) -> None:
    ours, theirs, old = (f"doctor-{uuid4().hex}" for _ in range(3))
    real = raw("e1")
    real["data"]["note"] = ours
    workshop.process(record(envelope(real, probe(ours), probe(theirs), probe(old))))
    store.rows(f"update email_events set received_at = now() - interval '2 hours' where payload::text ~ '{old}'")
    store.rows(f"update email_events set received_at = now() where payload::text !~ '{old}'")

    assert order("doctor.probe.remove", markers=[ours]) == {"removed": 2}

    left = [json.dumps(row[0]) for row in store.rows("select payload from email_events order by event_id")]
    assert len(left) == 2
    assert [theirs in text for text in left].count(True) == 1


@pytest.mark.parametrize("markers", [["%"], ["doctor-"], ["ann@example.com"], "doctor"])
def test_only_markers_of_probes_are_taken(order: Order, markers: Any) -> None:
    assert "markers must be" in order("doctor.probe.remove", declined=True, markers=markers)["error"]


def test_the_sources_are_told(order: Order) -> None:
    assert all("provider" in source for source in order("sources")["sources"].values())
