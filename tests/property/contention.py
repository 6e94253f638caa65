"""Eight workers with overlapping batches in different orders, for a while: no deadlock, and what waiting costs."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from mailfold.store.connection import Database
from tests.property.histories import Fact, History
from tests.property.pipeline import Pipeline
from tests.property.properties import plain_fact

WORKERS = 8
EVENTS = 80


@dataclass
class Contest:
    """What the workers came to."""

    events: int = 0
    seconds: float = 0.0
    deadlocks: int = 0
    reasons: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Events a second, copies included."""
        return self.events / self.seconds


def contest(pipeline: Pipeline, *, seconds: float, overlapping: bool) -> Contest:
    """Let the workers run; overlapping ones get the same events in different orders, the others events of their own."""
    outcome = Contest()
    began = time.monotonic()
    threads = [
        threading.Thread(target=_work, args=(pipeline, outcome, number, began + seconds, overlapping))
        for number in range(WORKERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcome.seconds = time.monotonic() - began
    outcome.deadlocks = sum("40P01" in reason for reason in outcome.reasons)
    return outcome


def _work(pipeline: Pipeline, outcome: Contest, number: int, until: float, overlapping: bool) -> None:
    database, rng, step = Database(pipeline.process_url), Random(number), 0
    while time.monotonic() < until:
        step += 1
        # A few rounds share their events, so that workers that are ahead and behind meet as well.
        first = 40 * (step // 3) if overlapping else 1_000_000 * (number + 1) + EVENTS * step
        facts: tuple[Fact, ...] = tuple(plain_fact(first + place) for place in range(EVENTS))
        order = tuple(rng.sample(range(EVENTS), EVENTS))
        pipeline.hand_over(History(facts, ((order,),)), f"contest{overlapping}", database, outcome.reasons)
        outcome.events += EVENTS
    database.close()


def report(pipeline: Pipeline, *, seconds: float, say: Callable[[str], None]) -> None:
    """Run both contests and fail on a deadlock."""
    apart = contest(pipeline, seconds=max(5.0, seconds / 4), overlapping=False)
    together = contest(pipeline, seconds=seconds, overlapping=True)
    say(
        f"  {WORKERS} workers, overlapping batches, {together.seconds:.0f} s: {together.deadlocks} deadlocks, "
        f"{together.rate:.0f} events/s, {together.rate / apart.rate:.2f} of the rate without overlap"
    )
    assert together.deadlocks == 0
