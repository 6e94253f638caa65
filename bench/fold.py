"""fold: process, from SQS event to commit, against the consumers people write and against the server's own limit."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import pg8000.core

from bench import baselines
from bench.delay import delayed
from bench.figures import Section
from bench.lab import Function, Lab, process_function, taken
from bench.measure import Way, in_turns, ratios
from bench.progress import Ticker
from bench.traffic import SOURCES, Traffic, envelopes
from local.testing.events import sqs_event
from mailfold.store.connection import Database

ROUNDS = 9
EVENTS = 1_000
RECORDS = 500
#: The baselines are slow: a part of the batch tells their rate.
SAMPLE = 100
ROUND_TRIP_S = 0.001


def measure(lab: Lab, ticker: Ticker) -> Section:
    """Measure the fold."""
    section = Section(name="fold")
    with _bench(lab, lab.server.port) as bench:
        _on_loopback(bench, section, ticker)
        _duplicates(bench, section, ticker)
        _round_trips(bench, section)
    with delayed(lab.server.port, round_trip_s=ROUND_TRIP_S) as port, _bench(lab, port) as bench:
        _across_a_network(bench, section, ticker)
    return section


class _Bench:
    """process and its baselines, side by side on one database and one traffic."""

    def __init__(self, lab: Lab, name: str, port: int) -> None:
        local, reached = str(lab.server.port), str(port)
        self.traffic = Traffic(seed=port)
        self.owner = lab.owner(name)
        self.owner.execute(baselines.TABLES)
        self.process = process_function(lab.url(name, "mailfold_process").replace(local, reached), sources=SOURCES)
        self.naive = baselines.NaiveConsumer(port, name)
        self.per_record = baselines.PerRecord(lab.server.url(name).replace(local, reached))
        self.server_alone = baselines.ServerAlone(self.owner)

    def close(self) -> None:
        """Close all connections."""
        self.process.close()
        self.naive.close()
        self.per_record.close()
        self.owner.close()

    def fold_way(self, make_bodies: Callable[[], list[str]]) -> Way:
        """Return process over fresh records."""

        def prepared() -> Callable[[], object]:
            event = sqs_event(make_bodies())
            return lambda: taken(self.process, event)

        return prepared

    def chunked(self) -> list[str]:
        """Return the records of one request with many events."""
        return envelopes(self.traffic.events(EVENTS))

    def single(self) -> list[str]:
        """Return records of one event each."""
        return [text for event in self.traffic.events(RECORDS) for text in envelopes([event])]

    def naive_way(self) -> Callable[[], object]:
        """Return the naive consumer over fresh events."""
        events = self.traffic.events(SAMPLE)
        return lambda: self.naive.consume(events)

    def per_record_way(self) -> Callable[[], object]:
        """Return Powertools per record over fresh records."""
        bodies = [text for event in self.traffic.events(SAMPLE) for text in envelopes([event])]
        return lambda: self.per_record.consume(bodies)

    def server_way(self) -> Callable[[], object]:
        """Return the statement over staged rows."""
        self.server_alone.stage([event for raw in self.traffic.events(EVENTS) for event in baselines.parse(raw)])
        return self.server_alone.fold

    def copy_way(self) -> Callable[[], object]:
        """Return COPY over rows that are rendered already."""
        events = [event for raw in self.traffic.events(EVENTS) for event in baselines.parse(raw)]
        stream = io.BytesIO(baselines.copy_text(events).encode())
        return lambda: baselines.copy_stream(self.owner, "copied", stream)


@contextmanager
def _bench(lab: Lab, port: int) -> Iterator[_Bench]:
    name = lab.database()
    bench = _Bench(lab, name, port)
    try:
        yield bench
    finally:
        bench.close()
        lab.drop(name)


def _on_loopback(bench: _Bench, section: Section, ticker: Ticker) -> None:
    seconds = in_turns(
        {
            "chunks": bench.fold_way(bench.chunked),
            "singles": bench.fold_way(bench.single),
            "naive": bench.naive_way,
            "per record": bench.per_record_way,
            "server": bench.server_way,
            "copy": bench.copy_way,
        },
        rounds=ROUNDS,
        ticker=ticker,
        warmed=True,
    )
    chunks, singles = seconds["chunks"], seconds["singles"]
    section.add(
        f"fold, {EVENTS:,} events in chunks, over the naive consumer",
        ratios(seconds["naive"], chunks, work=EVENTS / SAMPLE),
        must=(">=", 35),
    )
    # What no client could exceed.
    section.add(
        "the server alone over the naive consumer",
        ratios(seconds["naive"], seconds["server"], work=EVENTS / SAMPLE),
    )
    section.add(
        f"fold, {EVENTS:,} events in chunks, over the server alone",
        ratios(seconds["server"], chunks),
        must=(">=", 0.45),
    )
    section.add(f"fold, {EVENTS:,} events in chunks, over COPY into a primary key", ratios(seconds["copy"], chunks))
    section.add(
        f"fold, {RECORDS} records of one event, over the naive consumer",
        ratios(seconds["naive"], singles, work=RECORDS / SAMPLE),
        must=(">=", 15),
    )
    section.add(
        f"fold, {RECORDS} records of one event, over Powertools per record",
        ratios(seconds["per record"], singles, work=RECORDS / SAMPLE),
        must=(">=", 12),
    )
    section.add("fold, events in chunks", [EVENTS / taken_s for taken_s in chunks], unit="events/s")
    section.add("fold, records of one event", [RECORDS / taken_s for taken_s in singles], unit="events/s")


def _duplicates(bench: _Bench, section: Section, ticker: Ticker) -> None:
    """Measure known events in new envelopes: the claims are free, so every event is looked at."""

    def known() -> Callable[[], object]:
        events = bench.traffic.events(EVENTS)
        taken(bench.process, sqs_event(envelopes(events)))
        # Another order makes another body, and so other claims over the same events.
        event = sqs_event(envelopes(events[::-1]))
        return lambda: taken(bench.process, event)

    def redelivered() -> Callable[[], object]:
        event = sqs_event(bench.chunked())
        taken(bench.process, event)
        return lambda: taken(bench.process, event)

    seconds = in_turns(
        {"fresh": bench.fold_way(bench.chunked), "known": known, "redelivered": redelivered},
        rounds=ROUNDS,
        ticker=ticker,
        warmed=True,
    )
    section.add(
        "all-duplicate batch (known events, new envelopes) over fresh batch",
        ratios(seconds["fresh"], seconds["known"]),
        must=(">=", 1.3),
    )
    section.add("redelivered batch (same envelopes) over fresh batch", ratios(seconds["fresh"], seconds["redelivered"]))


def _across_a_network(bench: _Bench, section: Section, ticker: Ticker) -> None:
    seconds = in_turns(
        {"chunks": bench.fold_way(bench.chunked), "naive": bench.naive_way}, rounds=ROUNDS, ticker=ticker
    )
    section.add(
        f"fold, {EVENTS:,} events in chunks, over the naive consumer, 1 ms away",
        ratios(seconds["naive"], seconds["chunks"], work=EVENTS / SAMPLE),
        must=(">=", 100),
    )
    database: Database = bench.process.module.database
    section.add("a bare round trip through the delay", [_round_trip(database) * 1000 for _ in range(25)], unit="ms")


def _round_trip(database: Database) -> float:
    began_at = perf_counter()
    database.execute("select")
    return perf_counter() - began_at


def _round_trips(bench: _Bench, section: Section) -> None:
    """Count how often the driver sends and waits, for one event and for many."""
    sizes = (1, 10, 100, 1_000, 5_000)
    counted = [_flushes(bench.process, sqs_event(envelopes(bench.traffic.events(size)))) for size in sizes]
    section.add("round trips per batch, from 1 to 5,000 events", counted, unit="", must=("<=", min(counted)))
    if len(set(counted)) != 1:
        section.notes.append(f"round trips grow with the batch: {dict(zip(sizes, counted, strict=True))}")


def _flushes(process: Function, event: dict[str, Any]) -> int:
    flush = pg8000.core._flush
    flushes = []

    def counting(sock: Any) -> None:
        flushes.append(sock)
        flush(sock)

    pg8000.core._flush = counting
    try:
        taken(process, event)
    finally:
        pg8000.core._flush = flush
    return len(flushes)
