"""Whether work grows in step with its input: processor time, compared within one run."""

import gc
from collections.abc import Callable
from time import process_time

#: A length, and four times it: what is linear takes four times as long, what is quadratic sixteen times.
SHORT, LONG = 10_000, 40_000
MOST_TIMES = 8
#: Below this much processor time a ratio says nothing; the cheapest quadratic work on LONG characters takes far longer.
FLOOR_S = 0.05


def grows_in_step(work: Callable[[int], object], *, short: int = SHORT, long: int = LONG) -> bool:
    """Tell whether up to four times the input costs less than eight times the processor time."""
    if _seconds(work, long) < FLOOR_S:
        return True
    return _best(work, long) < max(FLOOR_S, MOST_TIMES * _best(work, short))


def _best(work: Callable[[int], object], length: int) -> float:
    return min(_seconds(work, length) for _ in range(3))


def _seconds(work: Callable[[int], object], length: int) -> float:
    gc.disable()
    try:
        began_at = process_time()
        work(length)
        return process_time() - began_at
    finally:
        gc.enable()
