"""Live traffic beside something else, and how long each of its events takes from the first byte to a committed row."""

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, Self

from local.database import connect
from local.errors import LocalError
from local.pause_detector import PauseDetector
from local.senders import Sender
from local.traffic import Plan, Request
from samples import Sampler

#: Requests a second, of one event each, as most webhooks are.
REQUESTS_PER_SECOND = 10
#: How often the database is asked which events are in: the error of every figure.
POLL_SECONDS = 0.02
#: How many events go first, so that no start of a process is measured.
WARM_UP = 20
PATIENCE_SECONDS = 60.0

ARRIVED = """
select payload #>> cast(:path as text[]) from email_events
where received_at >= cast(:since as timestamptz) and source = :source
    and payload #>> cast(:path as text[]) like :run || '-%'
"""


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """How long some events took, in seconds."""

    events: int
    median: float
    p99: float
    longest: float
    #: For how long the machine stood still meanwhile, which is taken off the others.
    stalled: float

    @classmethod
    def of(cls, seconds: Sequence[float], *, stalled: float) -> "Latencies":
        """Sum some up."""
        ordered = sorted(seconds)
        return cls(
            stalled=stalled,
            events=len(ordered),
            median=statistics.median(ordered),
            p99=ordered[int(len(ordered) * 0.99)],
            longest=ordered[-1],
        )

    def __str__(self) -> str:
        stalled = f" (the machine stood still for {self.stalled:.2f} s, not counted)" if self.stalled else ""
        return f"{self.events}, median {self.median:.2f} s, p99 {self.p99:.2f} s, longest {self.longest:.2f} s{stalled}"


class LiveTraffic:
    """Sends one event after the other and watches each of them arrive."""

    def __init__(self, *, dsn: str, sender: Sender, sampler: Sampler, source: str, run: str, rng: Random) -> None:
        self._dsn = dsn
        self._sender = sender
        self._sampler = sampler
        self._source = source
        self.run = run
        self._rng = rng
        self._began_at = datetime.now(UTC)
        self._requests: list[Request] = []
        self._sent_at: dict[str, float] = {}
        self._arrived_at: dict[str, float] = {}
        self._stalls = PauseDetector()
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=target, daemon=True, name=f"live {target.__name__}")
            for target in (self._send, self._watch)
        ]

    def __enter__(self) -> Self:
        self._began_at = datetime.now(UTC)
        self._stalls.__enter__()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self._stalls.__exit__()

    def warm_up(self) -> None:
        """Return once the first events are in."""
        self._await(lambda: len(self._arrived_at) >= WARM_UP)

    def measure(self, seconds: float) -> Latencies:
        """Let so much time pass, and tell how long its events took."""
        began_at = time.monotonic()
        time.sleep(seconds)
        return self.since(began_at)

    def since(self, began_at: float) -> Latencies:
        """Tell how long the events took that were sent since then, once they are all in."""
        sent = [marker for marker, at in list(self._sent_at.items()) if at >= began_at]
        self._await(lambda: all(marker in self._arrived_at for marker in sent))
        seconds = [self._took(self._sent_at[marker], self._arrived_at[marker]) for marker in sent]
        return Latencies.of(seconds, stalled=self._stalls.within(began_at, time.monotonic()))

    def _took(self, sent_at: float, arrived_at: float) -> float:
        return arrived_at - sent_at - self._stalls.within(sent_at, arrived_at)

    def plan(self) -> Plan:
        """Return what was sent, for an audit."""
        return Plan(
            source=self._source,
            markers=frozenset(self._sent_at),
            forged_markers=frozenset(),
            requests=tuple(self._requests),
        )

    def _send(self) -> None:
        number = 0
        while not self._stopped.wait(1 / REQUESTS_PER_SECOND):
            marker = f"{self.run}-{self._source}-{number}"
            raw = self._sampler.generate(self._rng, marker, datetime.now(UTC))
            self._sent_at[marker] = time.monotonic()
            self._requests.append(Request(source=self._source, events=(raw,)))
            self._sender.send(self._requests[-1])
            number += 1

    def _watch(self) -> None:
        with connect(self._dsn) as connection:
            while not self._stopped.is_set() or self._sent_at.keys() - self._arrived_at.keys():
                rows: Any = connection.run(
                    ARRIVED,
                    since=self._began_at,
                    source=self._source,
                    path=list(self._sampler.MARKER),
                    run=self.run,
                )
                now = time.monotonic()
                for (marker,) in rows:
                    self._arrived_at.setdefault(marker, now)
                time.sleep(POLL_SECONDS)

    def _await(self, condition: Any) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise LocalError("Live events do not arrive.")
            time.sleep(POLL_SECONDS)
