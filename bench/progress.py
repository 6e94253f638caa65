"""One line of progress while a benchmark runs."""

import sys
import time


class Ticker:
    """Says what is going on, on one line of a terminal and not at all elsewhere."""

    def __init__(self, section: str) -> None:
        self._section = section
        self._began_at = time.monotonic()

    def tick(self, doing: str) -> None:
        """Replace the line."""
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{self._section}: {doing} ({time.monotonic() - self._began_at:.0f} s)")
            sys.stderr.flush()

    def done(self) -> None:
        """Leave a line behind."""
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{clear}{self._section}: {time.monotonic() - self._began_at:.0f} s", file=sys.stderr, flush=True)
