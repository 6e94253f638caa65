"""What a test's database holds, in a form that can be compared."""

import time
from collections.abc import Callable
from typing import Any

from mailfold.events import BounceClass, EventType
from mailfold.fold import Folded, Status, Suppression
from mailfold.store.connection import Database

Query = Callable[[str], list[list[Any]]]

#: Everything that the events decide; not what our clock and sequences decide.
TABLES = {
    "email_events": "select * from email_events order by event_id",
    "message_status": "select * from message_status order by 1, 2, 3, 4",
    "suppressions": "select * from suppressions order by 1, 2",
    "claims": "select claim_key, request_hash, source, result from claims order by 1",
    "dead_letters": "select dead_letter_id, kind, source, raw from dead_letters order by 1",
    "outbox": "select topic, key, body from outbox order by 1, 2, body",
}


def state(rows: Query) -> dict[str, list[list[Any]]]:
    """Return every table."""
    return {table: rows(sql) for table, sql in TABLES.items()}


def folded(rows: Query) -> Folded:
    """Return the folded tables as the reference fold would."""
    statuses = {
        (message, recipient, EventType(kind), BounceClass(bounce_class) if bounce_class else None): Status(
            first_at=first_at, last_at=last_at
        )
        for message, recipient, kind, bounce_class, first_at, last_at in rows(
            "select message_id, recipient, type, bounce_class, first_at, last_at from message_status"
        )
    }
    suppressions = {
        (address, scope): Suppression(
            first_suppress=_moment(first_at, first_id),
            last_suppress=_moment(last_at, last_id),
            last_lift=_moment(lift_at, lift_id),
        )
        for address, scope, first_at, first_id, last_at, last_id, lift_at, lift_id in rows(
            "select address, scope, first_suppress_at, first_suppress_event_id, last_suppress_at,"
            " last_suppress_event_id,"
            " last_lift_at, last_lift_event_id from suppressions"
        )
    }
    return Folded(statuses=statuses, suppressions=suppressions)


def _moment(at: Any, event_id: Any) -> tuple[Any, Any] | None:
    return None if at is None else (at, event_id)


def await_waiting(url: str, sessions: int, seconds: float = 20) -> None:
    """Return once this many sessions wait for a lock."""
    watcher = Database(url)
    deadline = time.monotonic() + seconds
    sql = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    while watcher.execute(sql) != [[sessions]]:
        assert time.monotonic() < deadline, "nobody waits for a lock"
        time.sleep(0.01)
    watcher.close()


def await_no_session(store: Any, role: str, seconds: float = 20) -> None:
    """Return once no session of this role is left in this database."""
    deadline = time.monotonic() + seconds
    sql = f"select from pg_stat_activity where datname = current_database() and usename = '{role}'"
    while store.rows(sql):
        assert time.monotonic() < deadline, f"{role} has still a session"
        time.sleep(0.001)
