"""What an order is carried out with, and the line that it leaves behind."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mailfold.request import Source
from mailfold.store import audit
from mailfold.store.connection import Database, Transaction
from mailfold.telemetry import Telemetry


@dataclass(frozen=True, kw_only=True)
class OperateContext:
    """What operate works with."""

    database: Database
    sources: Mapping[str, Source]
    topics: Mapping[str, str]
    publish: bool
    soft_limit: int
    retention: Mapping[str, int]
    #: Who gives the order, as the caller's own identity says.
    by: str
    now: datetime
    remaining_ms: Callable[[], int]
    telemetry: Telemetry
    #: The database role of orders, where the connection's own may do less.
    role: str | None = None

    def transaction(self, *, keep: bool = True) -> AbstractContextManager[Transaction]:
        """Open the transaction of one order."""
        return self.database.transaction(keep=keep, role=self.role)

    def note(self, tx: Transaction, action: str, *, address: str | None = None, **details: Any) -> None:
        """Write into the audit log what this transaction does; an address is noted in its erased form."""
        audit.note(tx, by=self.by, action=action, address=address or "", **details)
