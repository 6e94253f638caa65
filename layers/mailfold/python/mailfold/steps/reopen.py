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
from mailfold.store.letters import Letter

#: Its content is part of the state already, so that only a person can say what it should become.
NEEDS_A_PERSON = "needs a person"


class NeedsPerson(Exception):
    """A letter that is left as it is."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one letter."""

    letter: Letter
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
        """Return new, duplicate, conflict or left: every letter is exactly one of these."""
        if self.untouched or self._refused:
            return "left"
        if self.counts.conflict:
            # Folded, but one of the two contents is a dead letter now.
            return "conflict"
        return "new" if self.counts.new else "duplicate"

    @property
    def why(self) -> tuple[str, str]:
        """Return the kind and the reason of what is left."""
        return (self._refused[0].kind, self._refused[0].reason) if self._refused else (self.letter.kind, NEEDS_A_PERSON)

    @property
    def _refused(self) -> list[DeadLetter]:
        return [letter for letter in self.remains if letter.kind != CONFLICT[0]]


@dataclass(frozen=True, kw_only=True)
class Reopened:
    """A letter that can be tried; its envelope bears the letter's id as claim key, to tell whose events are whose."""

    letter: Letter
    opened: Opened
    claim_key: str | None

    @property
    def envelope(self) -> Envelope:
        """Return the envelope under the claim key that it came with."""
        return replace(self.opened.envelope, claim_key=self.claim_key or "")

    @property
    def takes_claim(self) -> bool:
        """A whole record took no claim yet; where the claim proves the sender, it may not be folded without it."""
        return self.letter.source is None and not self.letter.unproven and proves(self.opened.envelope)


def reopen(unit: UnitOfWork, letter: Letter) -> Reopened | Outcome:
    """Return the letter as process would see it, or what keeps it from being tried."""
    if letter.raw == ERASED_TEXT:
        return Outcome(letter=letter, source=letter.source, counts=Counts(source=letter.source), untouched=True)
    try:
        opened = _open_record(unit, letter) if letter.source is None else _open_events(unit, letter)
        if letter.kind == CONFLICT[0]:
            _insist_on_change(unit, letter, opened)
    except NeedsPerson:
        return Outcome(letter=letter, source=letter.source, counts=Counts(source=letter.source), untouched=True)
    except Quarantine as reason:
        return left(letter, reason.kind, str(reason))
    except Exception:
        return left(letter, "unexpected", traceback.format_exc())
    named = replace(opened, envelope=replace(opened.envelope, claim_key=letter.dead_letter_id))
    return Reopened(letter=letter, opened=named, claim_key=letter.claim_key or opened.envelope.claim_key)


def left(letter: Letter, kind: str, reason: str, *, unproven: bool = False) -> Outcome:
    """Return what becomes of a dead letter that cannot be folded; what is not proven stays so."""
    if letter.kind == CONFLICT[0]:
        return Outcome(letter=letter, source=letter.source, counts=Counts(source=letter.source), untouched=True)
    remains = DeadLetter(
        kind=kind,
        reason=reason,
        source=letter.source,
        provider=letter.provider,
        claim_key=letter.claim_key,
        headers=letter.headers,
        raw=letter.raw,
        received_at=letter.received_at,
        unproven=unproven or letter.unproven,
    )
    return Outcome(letter=letter, source=letter.source, counts=Counts(source=letter.source), remains=(remains,))


def _open_record(unit: UnitOfWork, letter: Letter) -> Opened:
    return unit.open_record(_record(letter))


def _open_events(unit: UnitOfWork, letter: Letter) -> Opened:
    source = unit.sources.get(letter.source or "")
    if source is None or source.provider != letter.provider:
        raise UnparseableEvent("its source is not configured")
    if not letter.headers_kept and REGISTRY[source.provider].headers:
        # Without them the same event could get another id, and count twice.
        raise NeedsPerson
    envelope = Envelope(
        source=source.name,
        provider=source.provider,
        claim_key=letter.claim_key or "",
        request_hash="",
        received_at=letter.received_at,
        headers=letter.headers,
        events=_events(letter),
    )
    return Opened(record=_record(letter), envelope=envelope, suspicious=may_be_unstorable(letter.raw))


def _record(letter: Letter) -> Record:
    """Return the record that the letter stands for, received so often that a surprise is no reason to wait."""
    return Record(
        record_id=letter.dead_letter_id,
        body=letter.raw,
        receive_count=QUARANTINE_AFTER,
        sent_at=letter.received_at,
    )


def _events(letter: Letter) -> list[Any]:
    try:
        raw = loads(letter.raw)
    except MalformedPayload as exc:
        raise UnparseableEvent("the raw that was kept is not JSON") from exc
    return raw if letter.kind == "claim_conflict" and isinstance(raw, list) else [raw]


def _insist_on_change(unit: UnitOfWork, letter: Letter, opened: Opened) -> None:
    """Let a conflict be tried only if today's adapter makes another event, or another content, of it."""
    if REGISTRY[opened.envelope.provider].headers and not letter.headers:
        # A content that made room for another has lost its headers, and perhaps its id with them.
        raise NeedsPerson
    origin = unit.origin(opened)
    with budget.metered():
        events = [event for raw in opened.envelope.events for event in parse(opened, raw, origin)]
    for event in events:
        identity = f"{event.event_id}:{event.fingerprint}"
        if dead_letter_id(event.source, letter.kind, identity, unproven=letter.unproven) == letter.dead_letter_id:
            raise NeedsPerson
