"""The unit of work: claims, events, statuses, suppressions, outbox and dead letters of a batch, all or nothing."""

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mailfold import budget
from mailfold.envelope import Envelope, parse_record
from mailfold.errors import DataRejected, NotAnEnvelope, UnparseableEvent
from mailfold.events import Event, Raw, digest, is_plain, plain_id
from mailfold.jsontext import may_be_unstorable, storable_raw, storable_text
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.queue import Record
from mailfold.request import Source
from mailfold.steps.claims import claim_of, dead_letter_of_conflict
from mailfold.steps.outcomes import classify
from mailfold.steps.staging import Counts, Opened, Staged, dead_letter_of_record
from mailfold.store import batch
from mailfold.store.connection import Database, Transaction
from mailfold.store.idempotency import Asked, JoinedPersistence, joined_config
from mailfold.store.powertools import IdempotencyValidationError, idempotent_function
from mailfold.store.unproven import keep_few

#: An adapter that fails in a way nobody foresaw gets this many deliveries before its event is set aside.
QUARANTINE_AFTER = 5
#: The most events of one raw event, each of which is stored with all of it. SES takes so many recipients for a message.
MOST_EVENTS = 50


class Excluded(Exception):
    """Records that failed in a way nobody foresaw; the others are to be processed without them."""

    def __init__(self, records: Sequence[Record], reason: str) -> None:
        super().__init__(reason)
        self.records = records
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class UnitOfWork:
    """One transaction over a group of records."""

    database: Database
    sources: Mapping[str, Source]
    topics: Mapping[str, str]
    publish: bool
    remaining_ms: Callable[[], int]

    def run(self, records: Sequence[Record], *, one_by_one: bool = False) -> list[Counts]:
        """Commit the whole group, or raise and leave nothing behind."""
        staged = Staged()
        opened = self._open(records, staged)
        with self.database.transaction() as tx:
            with budget.metered():
                self._stage(tx, opened, staged)
            if staged.failed:
                raise Excluded(staged.failed, staged.failure)
            self._fold_staged(tx, staged, one_by_one=one_by_one)
            batch.complete(tx, {key: counts.as_result() for key, counts in staged.counts.items()}, staged.dead_letters)
        return [*staged.counts.values(), *staged.other_counts]

    def refold(self, tx: Transaction, opened: Sequence[Opened], *, one_by_one: bool = False) -> Staged:
        """Fold within an open transaction what once failed; without claims, because the events' own ids decide."""
        staged = Staged()
        with budget.metered():
            for one in opened:
                self._stage_events(one, staged)
        self._fold_staged(tx, staged, one_by_one=one_by_one)
        return staged

    def dead_letter_record(self, record: Record, kind: str, reason: str) -> list[Counts]:
        """Keep a whole record that no transaction can take."""
        with self.database.transaction() as tx:
            batch.complete(tx, {}, [dead_letter_of_record(record, kind, reason)])
        return [Counts(source=None, dead=1)]

    def _open(self, records: Iterable[Record], staged: Staged) -> list[Opened]:
        opened = []
        for record in records:
            try:
                opened.append(self.open_record(record))
            except NotAnEnvelope as reason:
                staged.dead_letter_record(record, reason.kind, str(reason))
            except Exception as surprise:
                if record.receive_count < QUARANTINE_AFTER:
                    staged.fail(record, surprise)
                else:
                    staged.dead_letter_record(record, "unexpected", traceback.format_exc())
        return opened

    def open_record(self, record: Record) -> Opened:
        """Return the envelope in a record, or raise why nobody can read it."""
        body = parse_record(record.body)
        envelope = Envelope.loads(body) if "mailfold" in body else self._unwrap(body, record)
        source = self.sources.get(envelope.source)
        if source is None or source.provider != envelope.provider:
            raise NotAnEnvelope("an envelope of a source that is not configured")
        needs_sanitising = may_be_unstorable(record.body)
        claim_key = plain_id(storable_text(envelope.claim_key) if needs_sanitising else envelope.claim_key)
        if claim_key != envelope.claim_key:
            envelope = replace(envelope, claim_key=claim_key)
        return Opened(record=record, envelope=envelope, needs_sanitising=needs_sanitising)

    def _unwrap(self, body: Mapping[str, Any], record: Record) -> Envelope:
        for provider in REGISTRY.values():
            envelope = provider.unwrap(body, self.topics, record.sent_at) if provider.unwrap else None
            if envelope is not None:
                return envelope
        raise NotAnEnvelope("neither an envelope nor a notification that a provider knows")

    def _stage(self, tx: Transaction, opened: Sequence[Opened], staged: Staged) -> None:
        if not opened:
            return
        claims = batch.claim(tx, [claim_of(one.envelope) for one in opened])
        stage = idempotent_function(
            self._stage_one,
            data_keyword_argument="claim",
            persistence_store=JoinedPersistence(claims),
            config=joined_config(self.remaining_ms),
        )
        for one in opened:
            key, events = one.envelope.claim_key, len(one.envelope.events)
            already = staged.counts.get(key)
            try:
                stage(claim=Asked(key, one.envelope.request_hash), one=one, staged=staged)
            except IdempotencyValidationError:
                staged.dead_letters.append(dead_letter_of_conflict(one))
                staged.other_counts.append(Counts(source=one.envelope.source, conflict=events))
            else:
                if staged.counts.get(key) is already:
                    staged.other_counts.append(Counts(source=one.envelope.source, duplicate=events))
        staged.dead_letters = keep_few(tx, staged.dead_letters)

    def _stage_one(self, *, claim: Asked, one: Opened, staged: Staged) -> None:
        self._stage_events(one, staged)

    def _stage_events(self, one: Opened, staged: Staged) -> None:
        staged.counts[one.envelope.claim_key] = Counts(source=one.envelope.source)
        origin = self.origin(one)
        for raw in one.envelope.events:
            try:
                events = parse(one, raw, origin)
            except UnparseableEvent as reason:
                staged.dead_letter_event(one, reason.kind, str(reason), raw)
            except Exception as surprise:
                if one.record.receive_count < QUARANTINE_AFTER:
                    staged.fail(one.record, surprise)
                    return
                staged.dead_letter_event(one, "unexpected", traceback.format_exc(), raw)
            else:
                staged.events.extend((one, event) for event in events)

    def origin(self, one: Opened) -> Origin:
        """Return what an adapter is told besides the raw."""
        return Origin(
            source=self.sources[one.envelope.source],
            received_at=one.envelope.received_at,
            headers=one.envelope.headers,
        )

    def _fold_staged(self, tx: Transaction, staged: Staged, *, one_by_one: bool) -> None:
        stored = self._fold_each(tx, staged) if one_by_one else self._fold(tx, staged)
        classify(tx, staged, stored, publish=self.publish)

    def _fold(self, tx: Transaction, staged: Staged) -> set[str]:
        events = [event for _, event in staged.events]
        return batch.fold(tx, events, publish=self.publish) if events else set()

    def _fold_each(self, tx: Transaction, staged: Staged) -> set[str]:
        stored: set[str] = set()
        folded: list[tuple[Opened, Event]] = []
        # In the order of the statement for all, so that of several contents of one event the same one is stored.
        for one, event in sorted(staged.events, key=lambda pair: (pair[1].event_id, pair[1].fingerprint)):
            tx.execute("savepoint one_event")
            try:
                stored |= batch.fold(tx, [event], publish=self.publish)
                folded.append((one, event))
            except DataRejected as refusal:
                tx.execute("rollback to savepoint one_event")
                staged.dead_letter_event(one, "refused_by_store", str(refusal), event.raw)
        staged.events = folded
        return stored


def parse(one: Opened, raw: Raw, origin: Origin) -> list[Event]:
    """Return the events in one raw event of an envelope."""
    if not isinstance(raw, dict):
        raise UnparseableEvent("the event is not an object")
    with budget.one_piece:
        events = REGISTRY[one.envelope.provider].parse(raw, origin)
        if len(events) > MOST_EVENTS:
            raise UnparseableEvent(f"it holds more than {MOST_EVENTS} events")
        if one.needs_sanitising:
            events = [storable(event) for event in events]
        for event in events:
            if not is_plain(event.event_id):
                return [plainly_named(event) for event in events]
        return events


def plainly_named(event: Event) -> Event:
    """Return an event under the id that it is stored with."""
    return event if is_plain(event.event_id) else replace(event, event_id=plain_id(event.event_id))


def storable(event: Event) -> Event:
    """Replace what Postgres cannot hold; ids become digests, so that two of them cannot become one."""
    event_id = storable_text(event.event_id)
    return replace(
        event,
        event_id=event_id if event_id == event.event_id else f"{event.provider}:{digest(event.event_id)}",
        kind=storable_text(event.kind),
        scope=storable_text(event.scope),
        message_id=_storable_or_none(event.message_id),
        recipient=_storable_or_none(event.recipient),
        reason=_storable_or_none(event.reason),
        raw=storable_raw(event.raw),
    )


def _storable_or_none(text: str | None) -> str | None:
    return None if text is None else storable_text(text)
