"""What questions are answered with, and who asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mailfold.jsontext import dumps
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.query.digests import Digests
from mailfold.steps.query.health import Health
from mailfold.steps.query.limits import Buckets
from mailfold.store import audit
from mailfold.store.connection import Transaction


@dataclass(frozen=True, kw_only=True)
class QueryContext:
    """What one environment of query works with."""

    #: What an order of a person is carried out with, as it is before anybody asks.
    operate: OperateContext
    #: Per token: what a page that is looked at needs, many times over.
    request_rate: Buckets = field(default_factory=lambda: Buckets(per_second=20, burst=60))
    #: Wrong tokens per caller: a person mistypes, a machine guesses.
    wrong_token_rate: Buckets = field(default_factory=lambda: Buckets(per_second=0.2, burst=10))
    digests: Digests = field(default_factory=Digests)
    health: Health = field(default_factory=Health)


@dataclass(frozen=True, kw_only=True)
class Token:
    """Whoever asks."""

    name: str
    #: As they were given; tokens.allowed says what they include.
    scopes: frozenset[str]
    #: What it may see; None for what every source said.
    sources: tuple[str, ...] | None
    last_used_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Call:
    """One admitted question with what it is answered from."""

    operate: OperateContext
    #: Open for as long as the answer is made; read only unless the route changes something.
    tx: Transaction
    #: What path, query and body say, read by their kinds; None for what was left out.
    values: Mapping[str, Any]
    token: Token

    @property
    def sources(self) -> str:
        """Return what the token may see, as statements take it: JSON, null where it is not bound."""
        return dumps(self.token.sources)

    def may_see(self, source: str | None) -> bool:
        """Tell whether the token may see what a source said, as the SQL function of this name does."""
        return self.token.sources is None or source in self.token.sources

    @property
    def now(self) -> datetime:
        """Return when it was asked."""
        return self.operate.now

    def text(self, name: str) -> str:
        """Return a value as statements take it: empty where it was left out."""
        value = self.values.get(name)
        if value is None:
            return ""
        return value.isoformat() if isinstance(value, datetime) else str(value)

    def note(self, action: str, *, address: str, **details: Any) -> None:
        """Write into the audit log what this question changes; an address is noted in its erased form."""
        audit.note(self.tx, by=self.operate.by, action=action, address=address, **details)
