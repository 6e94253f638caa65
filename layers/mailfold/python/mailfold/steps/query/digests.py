"""Which tokens are known to be good or bad, by their digests, in the memory of one environment.

A wrong token costs the database next to nothing: the digests of all good tokens are read at once, at a bounded rate,
and what is not among them is refused from memory. This only spares look-ups. The database decides whether a token is
still good, in the transaction that answers, so that a revoked one is refused at once.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import time

from mailfold.steps.query.limits import Buckets


@dataclass(kw_only=True)
class Digests:
    """The digests that were looked up lately."""

    #: A few people mistype at once, a machine guesses for ever.
    looks: Buckets = field(default_factory=lambda: Buckets(per_second=1, burst=60))
    #: How long a bad one is refused without another look; a token of this digest may be stored a moment later.
    kept_s: float = 10
    most_bad: int = 1_000
    #: Wall time: a frozen environment must not take old knowledge for new.
    clock: Callable[[], float] = time
    good: frozenset[str] = frozenset()
    bad: OrderedDict[str, float] = field(default_factory=OrderedDict)
    #: Whether `good` is what the newest look found; False while the database cannot tell.
    is_known: bool = False

    def is_bad(self, digest: str) -> bool:
        """Tell whether a digest was found to be bad a moment ago."""
        found_at = self.bad.get(digest)
        return found_at is not None and 0 <= self.clock() - found_at < self.kept_s

    def refuse(self, digest: str) -> None:
        """Note that the database does not know a digest, or knows that its token has ended."""
        self.good -= {digest}
        self.bad[digest] = self.clock()
        self.bad.move_to_end(digest)
        while len(self.bad) > self.most_bad:
            self.bad.popitem(last=False)

    def begin_look(self) -> int:
        """Return 0 if the good digests may be read now, or in how many seconds."""
        wait_s = self.looks.wait_s("")
        if not wait_s:
            self.looks.take("")
            self.is_known = False
        return wait_s

    def learn(self, good: Iterable[str]) -> None:
        """Keep what a look has found."""
        self.good, self.is_known = frozenset(good), True
