"""What is kept of contents that failed an authenticity check: a few under each claim. The others are counted."""

from collections.abc import Sequence

from mailfold.errors import TransientStoreError
from mailfold.jsontext import dumps
from mailfold.store.batch import DeadLetter
from mailfold.store.connection import Transaction

#: Anyone who has seen one signature can send any number of contents under it. A few are enough to judge them by.
MOST_CONTENTS = 5
#: Of all of them together. The first is kept whatever its size, which the queue bounds.
MOST_BYTES = 256_000


def keep_few(tx: Transaction, dead_letters: Sequence[DeadLetter]) -> list[DeadLetter]:
    """Return the dead letters without the unproven ones that are too many; those are counted on their claims."""
    unproven = {dead_letter.dead_letter_id: dead_letter for dead_letter in dead_letters if dead_letter.unproven}
    if not unproven:
        return list(dead_letters)
    _hold(tx, {dead_letter.claim_key or "" for dead_letter in unproven.values()})
    contents = [
        {
            "claim_key": dead_letter.claim_key,
            "dead_letter_id": key,
            "bytes": len(dead_letter.raw.encode("utf-8", "replace")),
        }
        for key, dead_letter in unproven.items()
    ]
    rows = tx.run(
        "unproven_keep",
        {"contents": dumps(contents), "most_contents": MOST_CONTENTS, "most_bytes": MOST_BYTES},
    )
    kept = {row[0] for row in rows}
    return [
        dead_letter for dead_letter in dead_letters if not dead_letter.unproven or dead_letter.dead_letter_id in kept
    ]


def _hold(tx: Transaction, claim_keys: set[str]) -> None:
    # A statement of its own: what is counted after it sees what others kept while this one waited.
    held = tx.run("unproven_hold", {"claim_keys": dumps(sorted(claim_keys))})
    if {row[0] for row in held} != claim_keys:
        raise TransientStoreError("a claim was pruned while it was read")
