"""What a unit of work is about to write, and how what cannot be folded is kept."""

from dataclasses import dataclass, field
from typing import Any

from mailfold.envelope import Envelope
from mailfold.errors import MalformedPayload
from mailfold.events import Event
from mailfold.jsontext import dumps
from mailfold.queue import Record
from mailfold.store.batch import DeadLetter


@dataclass(kw_only=True)
class Counts:
    """What became of the events of one envelope; recorded as the result of its claim."""

    source: str | None
    new: int = 0
    duplicate: int = 0
    conflict: int = 0
    dead: int = 0

    def as_result(self) -> dict[str, int]:
        """Return what is recorded with the claim."""
        return {"new": self.new, "duplicate": self.duplicate, "conflict": self.conflict, "dead": self.dead}


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A record that holds an envelope."""

    record: Record
    envelope: Envelope
    #: True where the body holds an escape that could stand for a character Postgres refuses.
    needs_sanitising: bool


@dataclass(kw_only=True)
class Staged:
    """What the unit of work will write."""

    events: list[tuple[Opened, Event]] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    #: By claim key, of the envelopes that run now.
    counts: dict[str, Counts] = field(default_factory=dict)
    #: Of the records that do not run: read before, or never to be read.
    other_counts: list[Counts] = field(default_factory=list)
    failed: list[Record] = field(default_factory=list)
    failure: str = ""

    def dead_letter_event(self, one: Opened, kind: str, reason: str, raw: Any) -> None:
        """Keep one event that cannot be folded."""
        self.dead_letters.append(dead_letter_of_event(one, kind, reason, raw))
        self.counts[one.envelope.claim_key].dead += 1

    def dead_letter_record(self, record: Record, kind: str, reason: str) -> None:
        """Keep a whole record that nobody can read."""
        self.dead_letters.append(dead_letter_of_record(record, kind, reason))
        self.other_counts.append(Counts(source=None, dead=1))

    def fail(self, record: Record, surprise: Exception) -> None:
        """Leave a record to a later delivery."""
        self.failed.append(record)
        self.failure = type(surprise).__name__


def dead_letter_of_event(one: Opened, kind: str, reason: str, raw: Any = None) -> DeadLetter:
    """Make a dead letter of one event, or of all events of its envelope."""
    return DeadLetter(
        kind=kind,
        reason=reason,
        source=one.envelope.source,
        provider=one.envelope.provider,
        claim_key=one.envelope.claim_key,
        headers=one.envelope.headers,
        raw=json_text(list(one.envelope.events) if raw is None else raw, otherwise=one.record.body),
        received_at=one.envelope.received_at,
    )


def dead_letter_of_record(record: Record, kind: str, reason: str) -> DeadLetter:
    """Make a dead letter of a whole record."""
    return DeadLetter(kind=kind, reason=reason, raw=record.body, received_at=record.sent_at)


def json_text(raw: Any, *, otherwise: str) -> str:
    """Return the JSON text of a raw event, which may be kept as its text already."""
    try:
        return raw if isinstance(raw, str) else dumps(raw)
    except MalformedPayload:
        return otherwise
