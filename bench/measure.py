"""Ways to do the same work, measured in turns, so that a busy moment of the machine hits all of them alike."""

import gc
import time
from collections.abc import Callable, Mapping, Sequence

from bench.progress import Ticker

#: A way prepares its round (not measured) and returns what is measured.
Way = Callable[[], Callable[[], object]]


def in_turns(ways: Mapping[str, Way], *, rounds: int, ticker: Ticker, warmed: bool = False) -> dict[str, list[float]]:
    """Return the seconds of each way's rounds; the first turn warms up and is not kept, and the order alternates.

    With `warmed`, each way also does its work once, unmeasured, at the beginning of its turn: what another way has
    driven out of the processor's caches would cost one that takes a single long step, and spare one of many short ones.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        names = list(ways)[:: 1 if turn % 2 else -1]
        for name in names:
            if warmed:
                ways[name]()()
            taken = timed(ways[name]())
            if turn:
                seconds[name].append(taken)
        ticker.tick(f"round {turn} of {rounds}")
    return seconds


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds that the work takes, free of a garbage collection that others have caused."""
    gc.collect()
    began_at = clock()
    work()
    return clock() - began_at


def ratios(base: Sequence[float], ours: Sequence[float], *, work: float = 1.0) -> list[float]:
    """Return per round how many times faster ours is; `work` is what ours did in one unit of the base's work."""
    return [base_s * work / our_s for base_s, our_s in zip(base, ours, strict=True)]
