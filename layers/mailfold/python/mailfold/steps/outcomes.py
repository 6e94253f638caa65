"""What became of each event: new, a duplicate, or a conflict with other content of the same id."""

from collections.abc import Sequence
from dataclasses import replace

from mailfold.erasure import erased_event, is_erased
from mailfold.events import Event
from mailfold.steps.staging import Opened, Staged, dead_letter_of_event, json_text
from mailfold.store import batch
from mailfold.store.batch import DeadLetter
from mailfold.store.connection import Transaction

CONFLICT = ("conflict", "this id is stored with other content")


def classify(tx: Transaction, staged: Staged, stored: set[str], *, publish: bool) -> None:
    """Count each event as new, duplicate, or conflict: the same id with other content, which is kept, not dropped."""
    fingerprints = _fingerprints(tx, staged, stored)
    fresh = set(stored)
    conflicts: list[tuple[Opened, Event]] = []
    for one, event in staged.events:
        counts = staged.counts[one.envelope.claim_key]
        if fingerprints.get(event.event_id, event.fingerprint) != event.fingerprint:
            conflicts.append((one, event))
            counts.conflict += 1
        elif event.event_id in fresh:
            fresh.remove(event.event_id)
            counts.new += 1
        else:
            counts.duplicate += 1
    if conflicts:
        _settle(tx, staged, conflicts, publish=publish)


def _fingerprints(tx: Transaction, staged: Staged, stored: set[str]) -> dict[str, str]:
    """Return the fingerprint under which an event is stored now, wherever it may differ from the event's own."""
    found: dict[str, str] = {}
    for _, event in staged.events:
        if event.event_id in stored:
            # Among copies in one batch the statement stores the one whose fingerprint sorts first.
            found[event.event_id] = min(found.get(event.event_id, event.fingerprint), event.fingerprint)
    older = [event for _, event in staged.events if event.event_id not in stored]
    return {**found, **batch.fingerprint_mismatches(tx, older)} if older else found


def _settle(tx: Transaction, staged: Staged, conflicts: Sequence[tuple[Opened, Event]], *, publish: bool) -> None:
    """Fold all contents of an event, store the one that sorts first, and keep the others as dead letters."""
    conflicts = _erased(tx, conflicts)
    replaced = batch.settle(tx, [event for _, event in conflicts], publish=publish)
    # Asked again, because a transaction that was waited for may have stored the very content that is settled here.
    kept = batch.fingerprint_mismatches(tx, [event for _, event in conflicts])
    for one, event in conflicts:
        if kept.get(event.event_id, event.fingerprint) != event.fingerprint:
            dead_letter = dead_letter_of_event(one, *CONFLICT, event.raw)
            headers = {} if is_erased(event.raw) else dead_letter.headers
            identity = f"{event.event_id}:{event.fingerprint}"
            staged.dead_letters.append(replace(dead_letter, headers=headers, identity=identity))
    staged.dead_letters.extend(
        DeadLetter(
            kind=CONFLICT[0],
            reason=CONFLICT[1],
            source=loser.source,
            provider=loser.provider,
            raw=json_text(loser.raw, otherwise=str(loser.raw)),
            received_at=loser.received_at,
            identity=f"{loser.event_id}:{loser.fingerprint}",
        )
        for loser in replaced
    )


def _erased(tx: Transaction, conflicts: Sequence[tuple[Opened, Event]]) -> Sequence[tuple[Opened, Event]]:
    """Return contents of events whose person was erased since without what names the person: it must not come back."""
    forms = batch.erased_as(tx, [event for _, event in conflicts])
    return [
        (one, erased_event(event, forms[event.event_id]) if event.event_id in forms else event)
        for one, event in conflicts
    ]
