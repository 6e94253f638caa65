"""Notice when the machine itself stands still, as a busy or virtual one may, so that nobody else is blamed for it."""

import threading
import time
from typing import Self

TICK_SECONDS = 0.02
#: A tick that comes this much too late was not held up by work: this thread has none.
STALL_SECONDS = 0.3


class PauseDetector:
    """Remembers when no thread of this process, however idle, got to run."""

    def __init__(self) -> None:
        self._stalls: list[tuple[float, float]] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="pause_detector")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def within(self, begin: float, end: float) -> float:
        """Return for how many seconds between two moments of the monotonic clock the machine stood still."""
        return sum(max(0.0, min(end, until) - max(begin, since)) for since, until in list(self._stalls))

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._stopped.wait(TICK_SECONDS):
            now = time.monotonic()
            if now - last > STALL_SECONDS:
                self._stalls.append((last, now))
            last = now
