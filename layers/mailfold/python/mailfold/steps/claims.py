"""What a claim says of an envelope: that it is processed once and, where nothing else is signed, who is believed."""

from collections.abc import Sequence
from dataclasses import replace

from mailfold.envelope import Envelope
from mailfold.providers import REGISTRY
from mailfold.steps.staging import Opened, dead_letter_of_event
from mailfold.store import batch
from mailfold.store.batch import Claim, DeadLetter
from mailfold.store.connection import Transaction

CONFLICT = "this key was used for another payload"
UNPROVEN = "the signature of this event was used for another event: it is not proven who sent it"


def claim_of(envelope: Envelope) -> Claim:
    """Return what an envelope is claimed by."""
    return Claim(claim_key=envelope.claim_key, request_hash=envelope.request_hash, source=envelope.source)


def proves(envelope: Envelope) -> bool:
    """Tell whether the sender of an envelope is proven by its claim alone."""
    return REGISTRY[envelope.provider].signs_claim_only


def dead_letter_of_conflict(one: Opened) -> DeadLetter:
    """Make a dead letter of an envelope whose claim was taken for another payload."""
    if proves(one.envelope):
        return replace(dead_letter_of_event(one, "claim_conflict", UNPROVEN), unproven=True)
    return dead_letter_of_event(one, "claim_conflict", CONFLICT)


def take_claims(tx: Transaction, envelopes: Sequence[Envelope]) -> dict[str, str]:
    """Take the claims that are free; return for each key the hash of the payload that holds it now."""
    held = batch.claim(tx, [claim_of(envelope) for envelope in envelopes])
    holders = {key: holder.request_hash for key, holder in held.items() if holder}
    for envelope in envelopes:
        # As in a batch, the first one with a free key takes it.
        holders.setdefault(envelope.claim_key, envelope.request_hash)
    return holders
