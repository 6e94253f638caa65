"""Dead letters folded again by today's code; what cannot be folded today is left over, with today's reason."""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mailfold.envelope import Envelope
from mailfold.errors import DataRejected, MalformedPayload, Quarantine, UnparseableEvent
from mailfold.jsontext import loads, may_be_unstorable
from mailfold.providers import REGISTRY
from mailfold.queue import Record
from mailfold.steps.claims import conflict_letter, proves, take_claims
from mailfold.steps.outcomes import CONFLICT
from mailfold.steps.staging import Counts, Opened, Staged
from mailfold.steps.unit import QUARANTINE_AFTER, UnitOfWork, parse
from mailfold.store import batch, letters
from mailfold.store.batch import DeadLetter, dead_letter_id
from mailfold.store.connection import Transaction
from mailfold.store.letters import Letter

#: Its content is part of the state already, so that only a person can say what it should become.
NEEDS_A_PERSON = "needs a person"
#: Whether its token was used is not known any more.
TOO_OLD = "it is older than the claims that are kept: whether its signature was used for another event is not known"


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
class _Reopened:
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


def redrive(tx: Transaction, unit: UnitOfWork, taken: Sequence[Letter], *, claims_since: datetime) -> list[Outcome]:
    """Fold the letters and write what became of them; nothing counts twice, whoever else folds the same events."""
    outcomes = rehearse(tx, unit, taken, claims_since=claims_since)
    remains = [letter for outcome in outcomes for letter in outcome.remains]
    staying = {letter.dead_letter_id: letter.reason for letter in remains}
    gone = {it.letter.dead_letter_id for it in outcomes if not it.untouched} - staying.keys()
    # New letters first: whoever waits for a row that is deleted here must not hold one that is waited for here.
    batch.complete(tx, {it.claim_key: it.counts.as_result() for it in outcomes if it.claim_key}, remains)
    letters.finish(tx, folded=gone, left_over=staying)
    return outcomes


def rehearse(tx: Transaction, unit: UnitOfWork, taken: Sequence[Letter], *, claims_since: datetime) -> list[Outcome]:
    """Fold the dead letters, all at once or else each on its own, and leave their own rows alone.

    Claims taken before `claims_since` may be pruned.
    """
    reopened: list[_Reopened] = []
    outcomes: list[Outcome] = []
    for letter in taken:
        found = _reopen(unit, letter)
        if isinstance(found, Outcome):
            outcomes.append(found)
        else:
            reopened.append(found)
    reopened, unproven = _believed(tx, reopened, claims_since)
    outcomes += unproven
    tx.execute("savepoint redriven")
    try:
        return outcomes + _fold(tx, unit, reopened)
    except DataRejected:
        tx.execute("rollback to savepoint redriven")
        return outcomes + [_fold_alone(tx, unit, one) for one in reopened]


def _believed(
    tx: Transaction, reopened: Sequence[_Reopened], claims_since: datetime
) -> tuple[list[_Reopened], list[Outcome]]:
    """Take the claims that prove a sender; return what may be folded, and what became of the rest."""
    believed = [one for one in reopened if not one.takes_claim]
    asking = [one for one in reopened if one.takes_claim and one.letter.received_at >= claims_since]
    too_old = [one for one in reopened if one.takes_claim and one.letter.received_at < claims_since]
    others = [_left(one.letter, one.letter.kind, TOO_OLD, unproven=True) for one in too_old]
    for one, holder in zip(asking, _holders(tx, asking), strict=True):
        if isinstance(holder, DataRejected):
            others.append(_left(one.letter, "refused_by_store", str(holder)))
        elif holder != one.envelope.request_hash:
            others.append(_turned_away(one))
        else:
            believed.append(one)
    return believed, others


def _holders(tx: Transaction, asking: Sequence[_Reopened]) -> Sequence[str | DataRejected]:
    """Return for each the hash of the payload that holds its claim, or why Postgres refuses the claim."""
    if not asking:
        return []
    tx.execute("savepoint claims")
    try:
        holders = take_claims(tx, [one.envelope for one in asking])
        return [holders[one.envelope.claim_key] for one in asking]
    except DataRejected as refusal:
        tx.execute("rollback to savepoint claims")
        return [refusal] if len(asking) == 1 else [_holders(tx, [one])[0] for one in asking]


def _turned_away(one: _Reopened) -> Outcome:
    envelope = one.envelope
    return Outcome(
        letter=one.letter,
        source=envelope.source,
        counts=Counts(source=envelope.source, conflict=len(envelope.events)),
        remains=(conflict_letter(replace(one.opened, envelope=envelope)),),
        turned_away=True,
    )


def _fold(tx: Transaction, unit: UnitOfWork, reopened: Sequence[_Reopened]) -> list[Outcome]:
    if not reopened:
        return []
    staged = unit.refold(tx, [one.opened for one in reopened])
    # A content that made room for a letter's content was no letter before.
    batch.complete(tx, {}, [letter for letter in staged.letters if letter.claim_key is None])
    return [_outcome(one, staged) for one in reopened]


def _fold_alone(tx: Transaction, unit: UnitOfWork, one: _Reopened) -> Outcome:
    tx.execute("savepoint one_letter")
    try:
        staged = unit.refold(tx, [one.opened], one_by_one=True)
        batch.complete(tx, {}, [letter for letter in staged.letters if letter.claim_key is None])
        return _outcome(one, staged)
    except DataRejected as refusal:
        tx.execute("rollback to savepoint one_letter")
        return replace(_left(one.letter, "refused_by_store", str(refusal)), claim_key=_claim_taken(one))


def _claim_taken(one: _Reopened) -> str | None:
    return one.claim_key if one.takes_claim else None


def _outcome(one: _Reopened, staged: Staged) -> Outcome:
    key = one.letter.dead_letter_id
    remains = [
        # What is not proven stays so, in whatever form it is left.
        replace(letter, claim_key=one.claim_key, unproven=one.letter.unproven)
        for letter in staged.letters
        if letter.claim_key == key
    ]
    return Outcome(
        letter=one.letter,
        source=one.opened.envelope.source,
        counts=staged.counts[key],
        remains=tuple(remains),
        claim_key=_claim_taken(one),
    )


def _reopen(unit: UnitOfWork, letter: Letter) -> _Reopened | Outcome:
    """Return the letter as process would see it, or what keeps it from being tried."""
    try:
        opened = _open_record(unit, letter) if letter.source is None else _open_events(unit, letter)
        if letter.kind == CONFLICT[0]:
            _insist_on_change(unit, letter, opened)
    except NeedsPerson:
        return Outcome(letter=letter, source=letter.source, counts=Counts(source=letter.source), untouched=True)
    except Quarantine as reason:
        return _left(letter, reason.kind, str(reason))
    except Exception:
        return _left(letter, "unexpected", traceback.format_exc())
    named = replace(opened, envelope=replace(opened.envelope, claim_key=letter.dead_letter_id))
    return _Reopened(letter=letter, opened=named, claim_key=letter.claim_key or opened.envelope.claim_key)


def _left(letter: Letter, kind: str, reason: str, *, unproven: bool = False) -> Outcome:
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
    for raw in opened.envelope.events:
        for event in parse(opened, raw, origin):
            identity = f"{event.event_id}:{event.fingerprint}"
            if dead_letter_id(event.source, letter.kind, identity, unproven=letter.unproven) == letter.dead_letter_id:
                raise NeedsPerson
