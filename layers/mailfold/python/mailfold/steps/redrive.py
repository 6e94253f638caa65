"""Dead letters folded again by today's code; what cannot be folded today is left over, with today's reason."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mailfold.errors import DataRejected
from mailfold.steps.claims import dead_letter_of_conflict, take_claims
from mailfold.steps.reopen import Outcome, Reopened, left, reopen
from mailfold.steps.staging import Counts, Staged
from mailfold.steps.unit import UnitOfWork
from mailfold.store import batch, dead_letters
from mailfold.store.connection import Transaction
from mailfold.store.dead_letters import StoredDeadLetter

#: Whether its token was used is not known any more.
TOO_OLD = "it is older than the claims that are kept: whether its signature was used for another event is not known"


def redrive(
    tx: Transaction, unit: UnitOfWork, taken: Sequence[StoredDeadLetter], *, claims_since: datetime
) -> list[Outcome]:
    """Fold the dead letters and write what became of them; nothing counts twice, whoever else folds the same events."""
    outcomes = rehearse(tx, unit, taken, claims_since=claims_since)
    remains = [dead_letter for outcome in outcomes for dead_letter in outcome.remains]
    staying = {dead_letter.dead_letter_id: dead_letter.reason for dead_letter in remains}
    gone = {it.dead_letter.dead_letter_id for it in outcomes if not it.untouched} - staying.keys()
    # New dead letters first: whoever waits for a row that is deleted here must not hold one that is waited for here.
    batch.complete(tx, {it.claim_key: it.counts.as_result() for it in outcomes if it.claim_key}, remains)
    dead_letters.finish(tx, folded=gone, left_over=staying)
    return outcomes


def rehearse(
    tx: Transaction, unit: UnitOfWork, taken: Sequence[StoredDeadLetter], *, claims_since: datetime
) -> list[Outcome]:
    """Fold the dead letters, all at once or else each on its own, and leave their own rows alone.

    Claims taken before `claims_since` may be pruned.
    """
    reopened: list[Reopened] = []
    outcomes: list[Outcome] = []
    for dead_letter in taken:
        found = reopen(unit, dead_letter)
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
    tx: Transaction, reopened: Sequence[Reopened], claims_since: datetime
) -> tuple[list[Reopened], list[Outcome]]:
    """Take the claims that prove a sender; return what may be folded, and what became of the rest."""
    believed = [one for one in reopened if not one.takes_claim]
    asking = [one for one in reopened if one.takes_claim and one.dead_letter.received_at >= claims_since]
    too_old = [one for one in reopened if one.takes_claim and one.dead_letter.received_at < claims_since]
    others = [left(one.dead_letter, one.dead_letter.kind, TOO_OLD, unproven=True) for one in too_old]
    for one, holder in zip(asking, _holders(tx, asking), strict=True):
        if isinstance(holder, DataRejected):
            others.append(left(one.dead_letter, "refused_by_store", str(holder)))
        elif holder != one.envelope.request_hash:
            others.append(_turned_away(one))
        else:
            believed.append(one)
    return believed, others


def _holders(tx: Transaction, asking: Sequence[Reopened]) -> Sequence[str | DataRejected]:
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


def _turned_away(one: Reopened) -> Outcome:
    envelope = one.envelope
    return Outcome(
        dead_letter=one.dead_letter,
        source=envelope.source,
        counts=Counts(source=envelope.source, conflict=len(envelope.events)),
        remains=(dead_letter_of_conflict(replace(one.opened, envelope=envelope)),),
        turned_away=True,
    )


def _fold(tx: Transaction, unit: UnitOfWork, reopened: Sequence[Reopened]) -> list[Outcome]:
    if not reopened:
        return []
    staged = unit.refold(tx, [one.opened for one in reopened])
    # A content that made room for a dead letter's content was no dead letter before.
    batch.complete(tx, {}, [dead_letter for dead_letter in staged.dead_letters if dead_letter.claim_key is None])
    return [_outcome(one, staged) for one in reopened]


def _fold_alone(tx: Transaction, unit: UnitOfWork, one: Reopened) -> Outcome:
    tx.execute("savepoint one_letter")
    try:
        staged = unit.refold(tx, [one.opened], one_by_one=True)
        batch.complete(tx, {}, [dead_letter for dead_letter in staged.dead_letters if dead_letter.claim_key is None])
        return _outcome(one, staged)
    except DataRejected as refusal:
        tx.execute("rollback to savepoint one_letter")
        return replace(left(one.dead_letter, "refused_by_store", str(refusal)), claim_key=_claim_taken(one))


def _claim_taken(one: Reopened) -> str | None:
    return one.claim_key if one.takes_claim else None


def _outcome(one: Reopened, staged: Staged) -> Outcome:
    key = one.dead_letter.dead_letter_id
    remains = [
        # What is not proven stays so, in whatever form it is left.
        replace(dead_letter, claim_key=one.claim_key, unproven=one.dead_letter.unproven)
        for dead_letter in staged.dead_letters
        if dead_letter.claim_key == key
    ]
    return Outcome(
        dead_letter=one.dead_letter,
        source=one.opened.envelope.source,
        counts=staged.counts[key],
        remains=tuple(remains),
        claim_key=_claim_taken(one),
    )
