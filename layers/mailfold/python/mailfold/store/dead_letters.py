"""Dead letters, taken out to be folded again and put back where that failed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mailfold.jsontext import dumps, storable_text
from mailfold.store.connection import Transaction

#: Of all raws of one page; one that is larger still makes a page of its own.
PAGE_BYTES = 4_000_000


@dataclass(frozen=True, kw_only=True)
class StoredDeadLetter:
    """A dead letter as it is stored."""

    dead_letter_id: str
    kind: str
    reason: str
    #: None where the raw is a whole record.
    source: str | None
    provider: str | None
    claim_key: str | None
    headers: Mapping[str, str]
    raw: str
    received_at: datetime
    #: False where nobody knows with which headers it came.
    headers_kept: bool = True
    #: True where its content failed an authenticity check.
    unproven: bool = False


#: Kinds that could end a redrive as they ended process: they must be named.
COSTLY = {"killed_its_worker", "over_budget"}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which dead letters are meant: some, those of one group, or all."""

    dead_letter_ids: Sequence[str] = ()
    group_id: str = ""
    #: Letters that came later are not meant, so that what is put back is not taken out again.
    until: datetime
    #: True where those that failed an authenticity check are meant as well.
    unproven: bool = False

    def leaves_out(self, unproven: bool, kind: str) -> str | None:
        """Return why a dead letter is not meant although it was chosen, None if it is meant."""
        if unproven and not self.unproven:
            return "unproven"
        if kind in COSTLY and not (self.dead_letter_ids or self.group_id):
            return kind
        return None


def next_ids(tx: Transaction, choice: Choice, *, after_id: str, most: int) -> dict[str, str | None]:
    """Return the ids of the next page, and why a redrive leaves out those that it leaves out."""
    rows = tx.run(
        "dead_letters_next",
        {
            "dead_letter_ids": dumps(list(choice.dead_letter_ids)),
            "group_id": choice.group_id,
            "until": choice.until.isoformat(),
            "after_id": after_id,
            "most": most,
            "most_bytes": PAGE_BYTES,
        },
    )
    return {key: choice.leaves_out(unproven, kind) for key, unproven, kind in rows}


def take(tx: Transaction, dead_letter_ids: Sequence[str]) -> list[StoredDeadLetter]:
    """Hold these dead letters until the transaction ends; one that somebody else holds is left to them."""
    names = list(StoredDeadLetter.__dataclass_fields__)
    rows = tx.run("dead_letters_take", {"dead_letter_ids": dumps(list(dead_letter_ids))})
    return [StoredDeadLetter(**dict(zip(names, row, strict=True))) for row in rows]


def finish(tx: Transaction, *, folded: Collection[str], left_over: Mapping[str, str]) -> None:
    """Forget the dead letters that were folded, and give those that are left over today's reason."""
    reasons = [{"dead_letter_id": key, "reason": storable_text(reason)} for key, reason in left_over.items()]
    tx.run("dead_letters_done", {"folded": dumps(sorted(folded)), "left_over": dumps(reasons)})
