"""Processor time for one piece of work at a time: what computes for too long is stopped, and what only waits is not."""

import contextlib
import signal
import threading
from collections.abc import Iterator

from mailfold.errors import OverBudget

#: For one raw event, which takes some ten microseconds: only a fault in the code or a hostile event needs as much. A
#: busy machine or a slow database uses no processor time of this process.
SECONDS = 1.0
#: A look at the clock for each event would cost more than many an adapter; the timer is set once for a batch instead.
TICK_SECONDS = 0.25


class _Meter:
    """Counts the ticks of the timer while one piece of work is done."""

    def __init__(self) -> None:
        self._ticks: int | None = None

    def __enter__(self) -> None:
        self._ticks = 0

    def __exit__(self, *_: object) -> None:
        self._ticks = None

    def tick(self, *_: object) -> None:
        """Stop the work that is done now if it has had its time; wherever else the timer strikes, do nothing."""
        if self._ticks is None:
            return
        self._ticks += 1
        # The first tick may come at once.
        if self._ticks > SECONDS / TICK_SECONDS:
            self._ticks = None
            raise OverBudget(f"reading it took more than {SECONDS:g} s of processor time")


#: One piece of work within `metered`: raises OverBudget in the middle of what takes too long.
one_piece = _Meter()


@contextlib.contextmanager
def metered() -> Iterator[None]:
    """Limit each `one_piece` in this block, unless this is not the main thread: no signal reaches another one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # It stays: a tick that comes late would end a process that has no answer to it.
    signal.signal(signal.SIGPROF, one_piece.tick)
    signal.setitimer(signal.ITIMER_PROF, TICK_SECONDS, TICK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
