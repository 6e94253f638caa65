"""How often somebody may ask: a bucket of permits per name, in the memory of one environment.

It slows one caller down within one environment of the function; with several environments a caller may get as many
times the rate. The limit that holds for all together is the throttle of the routes, infra/query.py.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic


@dataclass(kw_only=True)
class Buckets:
    """One bucket for each name, filled at a steady rate."""

    per_second: float
    burst: int
    #: The names that are remembered; the one that was seen the longest ago is forgotten first.
    most_names: int = 1_000
    clock: Callable[[], float] = monotonic
    _levels: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait_s(self, name: str) -> int:
        """Return in how many seconds there is a permit; 0 where there is one now."""
        level = self._level(name)
        return 0 if level >= 1 else max(1, math.ceil((1 - level) / self.per_second))

    def take(self, name: str) -> None:
        """Take a permit, also one that is not there yet."""
        self._levels[name] = max(self._level(name) - 1, -1.0), self.clock()
        self._levels.move_to_end(name)
        while len(self._levels) > self.most_names:
            self._levels.popitem(last=False)

    def _level(self, name: str) -> float:
        level, at = self._levels.get(name, (float(self.burst), self.clock()))
        return min(float(self.burst), level + (self.clock() - at) * self.per_second)
