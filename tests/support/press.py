"""publish on a test's database, with a bus in memory and a clock that a test sets."""

from collections.abc import Callable
from typing import Any

from mailfold.bus import Bus
from mailfold.steps.publish import PublishContext, publish
from mailfold.telemetry import Telemetry
from tests.support.databases import WatchedDatabase
from tests.support.fakes import FakeEvents

WAITING = "select outbox_id from outbox where published_at is null order by outbox_id"


class PublishHarness:
    """publish on this test's database, with a bus and a clock of its own."""

    def __init__(self, url: str) -> None:
        self.database = WatchedDatabase(url)
        self.events = FakeEvents()
        self.remaining_ms: Callable[[], int] = lambda: 300_000

    def publish(self) -> dict[str, int]:
        """Run it once."""
        bus = Bus(client=self.events, name="b")
        return publish(
            PublishContext(
                database=self.database, bus=bus, remaining_ms=self.remaining_ms, telemetry=Telemetry("publish")
            )
        )

    def sequences(self) -> list[int]:
        """Return the numbers of what the bus has taken, with repetitions."""
        return [detail["sequence"] for detail in self.events.details]


def write(store: Any, *keys: str, body: str = '{"occurred_at": "2026-01-01T00:00:00+00:00"}') -> None:
    """Put changes of these keys into the outbox, numbered from one more than the last."""
    for key in keys:
        store.rows(f"insert into outbox (topic, key, body) values ('status_changed', '{key}', '{body}')")


def waiting(store: Any) -> list[int]:
    return [number for (number,) in store.rows(WAITING)]


def ordered(events: FakeEvents) -> bool:
    """Tell whether, for each key, nothing was taken before what was committed before it."""
    return all(numbers == sorted(numbers) for numbers in events.keyed().values())
