"""growth: what the fold costs when the store is full, in time, log and bytes, and what each index adds."""

from collections.abc import Callable
from time import perf_counter

from bench.figures import Curve, Section, percentile
from bench.lab import Function, Lab, process_function, taken
from bench.measure import Way, in_turns, ratios
from bench.preload import loaded
from bench.progress import Ticker
from bench.traffic import SOURCES, Traffic, envelopes
from local.testing.events import sqs_event
from mailfold.store.connection import Database

SIZES = (0, 1_000_000, 5_000_000)
ROUNDS = 15
EVENTS = 1_000
#: Invocations that the p99 is taken from, small ones, as a quiet hour has them.
SMALL_BATCHES, SMALL_EVENTS = 150, 100
INDEX_ROUNDS = 7
INDEXES = (
    "email_events_message_id",
    "email_events_recipient",
    "email_events_received_at",
    "email_events_trouble",
    "message_status_received_at",
)


class Store:
    """A store of some size with process on it."""

    def __init__(self, lab: Lab, name: str, seed: int) -> None:
        self.owner: Database = lab.owner(name)
        self.process: Function = process_function(lab.url(name, "mailfold_process"), sources=SOURCES)
        self.traffic = Traffic(seed=seed)
        self.wal_per_event: list[float] = []

    def way(self) -> Callable[[], object]:
        """Return process over fresh events, watched by what it adds to the write-ahead log."""
        event = sqs_event(envelopes(self.traffic.events(EVENTS)))
        return lambda: taken(self.process, event)

    def watched_way(self) -> Callable[[], object]:
        """Return the same, and note what it adds to the write-ahead log."""
        work = self.way()

        def watched() -> None:
            before = self._wal_bytes()
            work()
            self.wal_per_event.append((self._wal_bytes() - before) / EVENTS)

        return watched

    def latencies(self) -> list[float]:
        """Return the milliseconds of many small invocations."""
        return [self._latency() for _ in range(SMALL_BATCHES)]

    def bytes_per_event(self) -> dict[str, float]:
        """Return what one event adds to each relation, from the sizes before and after some thousands."""
        before = self._sizes()
        for _ in range(5):
            self.way()()
        return {name: (size - before.get(name, 0)) / (5 * EVENTS) for name, size in self._sizes().items()}

    def close(self) -> None:
        """Let go of the connections."""
        self.process.close()
        self.owner.close()

    def _latency(self) -> float:
        event = sqs_event(envelopes(self.traffic.events(SMALL_EVENTS)))
        began_at = perf_counter()
        taken(self.process, event)
        return (perf_counter() - began_at) * 1000

    def _wal_bytes(self) -> float:
        return float(self.owner.execute("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")[0][0])

    def _sizes(self) -> dict[str, float]:
        rows = self.owner.execute(
            "select relname, pg_relation_size(oid) from pg_class "
            "where relnamespace = 'public'::regnamespace and relkind in ('r', 'i')"
        )
        return {name: float(size) for name, size in rows}


def measure(lab: Lab, ticker: Ticker) -> Section:
    """Fold into stores of all sizes in turns, then with one index less in turns."""
    section = Section(name="growth")
    stores = {}
    for seed, rows in enumerate(SIZES):
        ticker.tick(f"loading {rows:,} events")
        stores[rows] = Store(lab, loaded(lab, rows), seed)
    _by_size(section, stores, ticker)
    for store in stores.values():
        store.close()
    _by_index(section, lab, ticker)
    return section


def _by_size(section: Section, stores: dict[int, Store], ticker: Ticker) -> None:
    seconds = in_turns({str(rows): store.watched_way for rows, store in stores.items()}, rounds=ROUNDS, ticker=ticker)
    for rows in SIZES[1:]:
        section.add(
            f"fold at {rows // 1_000_000} M rows over fold at 0",
            ratios(seconds["0"], seconds[str(rows)]),
            must=(">=", 0.8) if rows == max(SIZES) else None,
        )
    for rows, store in stores.items():
        section.add(f"write-ahead log at {rows:,} rows", store.wal_per_event, unit="bytes/event")
    rates = [(rows / 1e6, EVENTS / percentile(seconds[str(rows)], 0.5)) for rows in SIZES]
    tails = [(rows / 1e6, percentile(store.latencies(), 0.99)) for rows, store in stores.items()]
    for (rows_in_millions, tail), rows in zip(tails, SIZES, strict=True):
        section.add(f"fold p99 of {SMALL_EVENTS} events at {rows:,} rows", [tail], unit="ms")
        assert rows_in_millions * 1e6 == rows
    section.curves += [
        Curve(name="fold rate by size", x_label="million events stored", y_label="events/s", points=rates),
        Curve(
            name=f"fold p99 by size, {SMALL_EVENTS} events",
            x_label="million events stored",
            y_label="ms",
            points=tails,
        ),
    ]
    for name, added in sorted(stores[max(SIZES)].bytes_per_event().items(), key=lambda item: -item[1]):
        if added >= 1:
            section.add(f"{name} at {max(SIZES):,} rows", [added], unit="bytes/event")


def _by_index(section: Section, lab: Lab, ticker: Ticker) -> None:
    """Compare a small store that has every index with one that lacks one of them."""
    whole = Store(lab, lab.database(), seed=100)
    lacking = {}
    for seed, index in enumerate(INDEXES):
        lacking[index] = Store(lab, lab.database(), seed=101 + seed)
        lacking[index].owner.execute(f"drop index {index}")
    ways: dict[str, Way] = {"": whole.watched_way, **{index: store.watched_way for index, store in lacking.items()}}
    seconds = in_turns(ways, rounds=INDEX_ROUNDS, ticker=ticker)
    log = percentile(whole.wal_per_event, 0.5)
    for index, store in lacking.items():
        section.add(f"fold without {index} over fold with it", ratios(seconds[""], seconds[index]))
        section.add(f"log for {index}", [log - less for less in store.wal_per_event], unit="bytes/event")
    for store in (whole, *lacking.values()):
        store.close()
