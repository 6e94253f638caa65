"""A dead letter as process would see it, and what became of it."""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mailfold import budget
from mailfold.envelope import Envelope
from mailfold.erasure import ERASED_TEXT
from mailfold.errors import MalformedPayload, Quarantine, UnparseableEvent
from mailfold.jsontext import loads, may_be_unstorable
from mailfold.providers import REGISTRY
from mailfold.queue import Record
from mailfold.steps.claims import proves
from mailfold.steps.outcomes import CONFLICT
from mailfold.steps.staging import Counts, Opened
from mailfold.steps.unit import QUARANTINE_AFTER, UnitOfWork, parse
from mailfold.store.batch import DeadLetter, dead_letter_id
from mailfold.store.dead_letters import StoredDeadLetter

#: Its content is part of the state already, so that only a person can say what it should become.
NEEDS_A_PERSON = "needs a person"


class NeedsPerson(Exception):
    """A dead letter that is left as it is."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one dead letter."""

    dead_letter: StoredDeadLetter
    source: str | None
    counts: Counts
    #: What is written in its place.
    remains: Sequence[DeadLetter] = ()
    #: True where it stays as it is.
    untouched: bool = False
    #: The claim that it took, if it took one.
    claim_key: str | None = None
    #: True where its claim is held for another payload, so that its sender is not proven.
    turned_away: bool = False

    @property
    def result(self) -> str:
        """Return new, duplicate, conflict or left: every dead letter is exactly one of these."""
        if self.untouched or self._refused:
            return "left"
        if self.counts.conflict:
            # Folded, but one of the two contents is a dead letter now.
            return "conflict"
        return "new" if self.counts.new else "duplicate"

    @property
    def why(self) -> tuple[str, str]:
        """Return the kind and the reason of what is left."""
        return (
            (self._refused[0].kind, self._refused[0].reason)
            if self._refused
            else (self.dead_letter.kind, NEEDS_A_PERSON)
        )

    @property
    def _refused(self) -> list[DeadLetter]:
        return [dead_letter for dead_letter in self.remains if dead_letter.kind != CONFLICT[0]]


@dataclass(frozen=True, kw_only=True)
class Reopened:
    """A dead letter that can be tried; its id is the claim key of its envelope, to tell whose events are whose."""

    dead_letter: StoredDeadLetter
    opened: Opened
    claim_key: str | None

    @property
    def envelope(self) -> Envelope:
        """Return the envelope under the claim key that it came with."""
        return replace(self.opened.envelope, claim_key=self.claim_key or "")

    @property
    def takes_claim(self) -> bool:
        """A whole record took no claim yet; where the claim proves the sender, it may not be folded without it."""
        return self.dead_letter.source is None and not self.dead_letter.unproven and proves(self.opened.envelope)


def reopen(unit: UnitOfWork, dead_letter: StoredDeadLetter) -> Reopened | Outcome:
    """Return the letter as process would see it, or what keeps it from being tried."""
    if dead_letter.raw == ERASED_TEXT:
        return Outcome(
            dead_letter=dead_letter, source=dead_letter.source, counts=Counts(source=dead_letter.source), untouched=True
        )
    try:
        opened = _open_record(unit, dead_letter) if dead_letter.source is None else _open_events(unit, dead_letter)
        if dead_letter.kind == CONFLICT[0]:
            _insist_on_change(unit, dead_letter, opened)
    except NeedsPerson:
        return Outcome(
            dead_letter=dead_letter, source=dead_letter.source, counts=Counts(source=dead_letter.source), untouched=True
        )
    except Quarantine as reason:
        return left(dead_letter, reason.kind, str(reason))
    except Exception:
        return left(dead_letter, "unexpected", traceback.format_exc())
    named = replace(opened, envelope=replace(opened.envelope, claim_key=dead_letter.dead_letter_id))
    return Reopened(dead_letter=dead_letter, opened=named, claim_key=dead_letter.claim_key or opened.envelope.claim_key)


def left(dead_letter: StoredDeadLetter, kind: str, reason: str, *, unproven: bool = False) -> Outcome:
    """Return what becomes of a dead letter that cannot be folded; what is not proven stays so."""
    if dead_letter.kind == CONFLICT[0]:
        return Outcome(
            dead_letter=dead_letter, source=dead_letter.source, counts=Counts(source=dead_letter.source), untouched=True
        )
    remains = DeadLetter(
        kind=kind,
        reason=reason,
        source=dead_letter.source,
        provider=dead_letter.provider,
        claim_key=dead_letter.claim_key,
        headers=dead_letter.headers,
        raw=dead_letter.raw,
        received_at=dead_letter.received_at,
        unproven=unproven or dead_letter.unproven,
    )
    return Outcome(
        dead_letter=dead_letter, source=dead_letter.source, counts=Counts(source=dead_letter.source), remains=(remains,)
    )


def _open_record(unit: UnitOfWork, dead_letter: StoredDeadLetter) -> Opened:
    return unit.open_record(_record(dead_letter))


def _open_events(unit: UnitOfWork, dead_letter: StoredDeadLetter) -> Opened:
    source = unit.sources.get(dead_letter.source or "")
    if source is None or source.provider != dead_letter.provider:
        raise UnparseableEvent("its source is not configured")
    if not dead_letter.headers_kept and REGISTRY[source.provider].headers:
        # Without them the same event could get another id, and count twice.
        raise NeedsPerson
    envelope = Envelope(
        source=source.name,
        provider=source.provider,
        claim_key=dead_letter.claim_key or "",
        request_hash="",
        received_at=dead_letter.received_at,
        headers=dead_letter.headers,
        events=_events(dead_letter),
    )
    return Opened(record=_record(dead_letter), envelope=envelope, needs_sanitising=may_be_unstorable(dead_letter.raw))


def _record(dead_letter: StoredDeadLetter) -> Record:
    """Return the record that the dead letter stands for, received so often that a surprise is no reason to wait."""
    return Record(
        record_id=dead_letter.dead_letter_id,
        body=dead_letter.raw,
        receive_count=QUARANTINE_AFTER,
        sent_at=dead_letter.received_at,
    )


def _events(dead_letter: StoredDeadLetter) -> list[Any]:
    try:
        raw = loads(dead_letter.raw)
    except MalformedPayload as exc:
        raise UnparseableEvent("the raw that was kept is not JSON") from exc
    return raw if dead_letter.kind == "claim_conflict" and isinstance(raw, list) else [raw]


def _insist_on_change(unit: UnitOfWork, dead_letter: StoredDeadLetter, opened: Opened) -> None:
    """Let a conflict be tried only if today's adapter makes another event, or another content, of it."""
    if REGISTRY[opened.envelope.provider].headers and not dead_letter.headers:
        # A content that made room for another has lost its headers, and perhaps its id with them.
        raise NeedsPerson
    origin = unit.origin(opened)
    with budget.metered():
        events = [event for raw in opened.envelope.events for event in parse(opened, raw, origin)]
    for event in events:
        identity = f"{event.event_id}:{event.fingerprint}"
        if (
            dead_letter_id(event.source, dead_letter.kind, identity, unproven=dead_letter.unproven)
            == dead_letter.dead_letter_id
        ):
            raise NeedsPerson
