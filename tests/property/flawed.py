"""Processors with one deliberate flaw each; the properties must catch every one of them."""

import contextlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from mailfold.errors import TransientStoreError
from mailfold.steps import outcomes, unit
from mailfold.steps import process as process_step
from mailfold.steps.staging import Staged
from mailfold.steps.unit import UnitOfWork
from mailfold.store import batch, connection, idempotency
from mailfold.store.queries import query

Flaw = Callable[[], AbstractContextManager[None]]


def _sql(change: Callable[[str], str], name: str = "fold") -> AbstractContextManager[Any]:
    """Run one statement with its text changed; the text must really change."""

    def changed(asked: str) -> str:
        text = query(asked)
        if asked != name:
            return text
        flawed = change(text)
        assert flawed != text, "this flaw no longer changes anything"
        return flawed

    return patch.object(connection, "query", changed)


@contextlib.contextmanager
def first_arrival_suppression() -> Iterator[None]:
    """Keep whatever stop arrived first, as the naive consumer does."""
    pattern = r"on conflict \(address, scope\) do update set.*?returning\s+new\.address"
    with _sql(
        lambda text: re.sub(
            pattern, "on conflict (address, scope) do nothing\n returning new.address", text, flags=re.S
        )
    ):
        yield


@contextlib.contextmanager
def blind_status_update() -> Iterator[None]:
    """Overwrite a status with whatever came last."""
    with _sql(
        lambda text: text.replace("least(s.first_at, excluded.first_at)", "excluded.first_at").replace(
            "greatest(s.last_at, excluded.last_at)", "excluded.last_at"
        )
    ):
        yield


#: The sorting of what is written, wherever it stands.
SORTS = (
    ("    order by event_id, fingerprint\n),\n\nincoming", "),\n\nincoming"),
    ("select distinct on (event_id, fingerprint) *", "select *"),
    ("select distinct on (event_id) * from contents order by event_id, fingerprint", "select * from contents"),
    ("    order by event_id\n    on conflict", "    on conflict"),
)


@contextlib.contextmanager
def no_sorted_writes() -> Iterator[None]:
    """Write the rows of a batch in the order in which they arrived."""

    def unsorted(text: str) -> str:
        for sorted_part, plain in SORTS:
            assert sorted_part in text
            text = text.replace(sorted_part, plain)
        return text

    with _sql(unsorted):
        yield


@contextlib.contextmanager
def counter_increment() -> Iterator[None]:
    """Count events as they come by instead of deriving the totals from the store."""
    original = UnitOfWork._stage

    def stage(self: UnitOfWork, tx: Any, opened: Any, staged: Staged) -> None:
        original(self, tx, opened, staged)
        for one in opened:
            for raw in one.envelope.events:
                mark = str(raw.get("id") or raw.get("sg_event_id") or "").partition("-")[0]
                kind = str(raw.get("type") or raw.get("event"))
                tx.execute(
                    "insert into daily_totals (day, source, type, bounce_class, events) "
                    f"values ('2026-01-01', '{one.envelope.source}', '{kind}', '{mark}', 1) "
                    "on conflict (day, source, type, bounce_class) do update set events = daily_totals.events + 1"
                )

    with patch.object(UnitOfWork, "_stage", stage):
        yield


@contextlib.contextmanager
def claim_committed_apart() -> Iterator[None]:
    """Commit the claims before the events they stand for."""
    original = batch.claim

    def claim(tx: Any, claims: Any) -> Any:
        claimed = original(tx, claims)
        batch.complete(tx, {key: {} for key, holder in claimed.items() if holder is None}, [])
        tx.execute("commit")
        tx.execute("begin")
        return claimed

    with patch.object(unit.batch, "claim", claim):
        yield


@contextlib.contextmanager
def cached_claim_after_rollback() -> Iterator[None]:
    """Remember completed claims in the process, whatever became of their transaction."""
    remembered: dict[str, Any] = {}
    original_init = idempotency.JoinedPersistence.__init__
    original_update = idempotency.JoinedPersistence._update_record

    def init(self: idempotency.JoinedPersistence, claims: Any) -> None:
        original_init(self, claims)
        self._records.update({key: remembered[key] for key in claims if key in remembered})

    def update(self: idempotency.JoinedPersistence, data_record: Any) -> None:
        original_update(self, data_record)
        remembered[data_record.idempotency_key] = data_record

    with (
        patch.object(idempotency.JoinedPersistence, "__init__", init),
        patch.object(idempotency.JoinedPersistence, "_update_record", update),
    ):
        yield


@contextlib.contextmanager
def acknowledge_before_commit() -> Iterator[None]:
    """Tell the queue that a batch is done when its transaction has only been tried."""
    original = process_step._process_group

    def group(records: Any, bench: Any, outcome: Any) -> None:
        before = list(outcome.failed)
        with contextlib.suppress(TransientStoreError):
            original(records, bench, outcome)
        outcome.failed[:] = before

    with patch.object(process_step, "_process_group", group):
        yield


@contextlib.contextmanager
def first_content_wins() -> Iterator[None]:
    """Of two contents of one event keep the one that came first."""
    with patch.object(outcomes, "_settle", lambda *_, **__: None):
        yield


@contextlib.contextmanager
def one_event_per_message() -> Iterator[None]:
    """Take the id of the message for the id of the event."""
    original = batch._rows

    def rows(events: Any) -> str:
        return original([replace(event, event_id=event.message_id or event.event_id) for event in events])

    with patch.object(batch, "_rows", rows):
        yield


@contextlib.contextmanager
def poison_stops_the_batch() -> Iterator[None]:
    """Fail the whole record when one of its events cannot be read."""

    def dead_letter_event(self: Staged, one: Any, kind: str, reason: str, raw: Any) -> None:
        raise TransientStoreError("give up on everything")

    with patch.object(Staged, "dead_letter_event", dead_letter_event):
        yield


#: Each flaw, and the property that must catch it.
FLAWS: dict[str, tuple[Flaw, str]] = {
    "first-arrival suppression": (first_arrival_suppression, "any_delivery"),
    "blind status update": (blind_status_update, "any_delivery"),
    "counter increment": (counter_increment, "any_delivery"),
    "claim committed apart from the events": (claim_committed_apart, "any_crash"),
    "cached claim after rollback": (cached_claim_after_rollback, "any_crash"),
    "acknowledged before commit": (acknowledge_before_commit, "any_crash"),
    "first content wins": (first_content_wins, "any_delivery"),
    "one event per message": (one_event_per_message, "any_delivery"),
    "no sorted writes": (no_sorted_writes, "no_deadlock"),
    "poison stops the batch": (poison_stops_the_batch, "any_delivery"),
}
