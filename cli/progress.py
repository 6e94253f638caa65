"""A progress bar that is a bar on a terminal and a few lines elsewhere."""

import sys
import threading
import time

WIDTH = 40
#: How often a line is printed where lines cannot be rewritten.
STEP = 0.25


class Progress:
    """Counts up to a total, on standard error; may be advanced from any thread."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = max(1, total)
        self._done = 0
        self._shown = -1.0
        self._began_at = time.monotonic()
        self._lock = threading.Lock()

    def advance(self, count: int = 1) -> None:
        """Count further."""
        with self._lock:
            self._show(self._done + count)

    def reach(self, done: int) -> None:
        """Count to here."""
        with self._lock:
            self._show(done)

    def _show(self, done: int) -> None:
        self._done = done
        share = min(1.0, done / self._total)
        terminal = sys.stderr.isatty()
        if (share - self._shown < (0.005 if terminal else STEP) and share < 1.0) or share == self._shown:
            return
        self._shown = share
        bar = "█" * round(share * WIDTH) + "·" * (WIDTH - round(share * WIDTH))
        text = f"{self._label:<9}{bar} {done}/{self._total}  {time.monotonic() - self._began_at:.0f} s"
        end = "\n" if share >= 1.0 or not terminal else ""
        print(f"{chr(13) if terminal else ''}{text}", end=end, file=sys.stderr, flush=True)
