"""Decisions about an address that a person makes."""

from datetime import datetime

from mailfold.events import Effect
from mailfold.store.connection import Transaction


def decide_manually(
    tx: Transaction,
    address: str,
    effect: Effect,
    *,
    scope: str = "",
    decided_at: datetime,
    decided_by: str,
    reason: str,
    publish: bool,
) -> bool:
    """Stop an address until it is lifted manually, or lift what stopped it so far; the later decision wins."""
    rows = tx.run(
        "decide_manually",
        {
            "address": address.strip().lower(),
            "scope": scope,
            "effect": str(effect),
            "decided_at": decided_at.isoformat(),
            "decided_by": decided_by,
            "reason": reason,
            "publish": publish,
        },
    )
    return bool(rows)
