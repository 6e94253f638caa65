"""end to end: signed requests into the deployed template in the emulator, until their events are committed."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import mean, median
from time import perf_counter

from bench.door import SignedRequest, accepted, receive_alone, signed_requests
from bench.figures import Section, percentile
from bench.lab import Function, Lab, fold_all, process_function
from bench.measure import timed
from bench.progress import Ticker
from bench.stack import LOOK_S, RunningStack, running_stack
from bench.traffic import SOURCES, Traffic, envelopes
from cli.local_aws import client

SIZES = (1, 10, 50)
ROUNDS = 7
THREADS = 4
#: Requests of one round and size: all at once, and one after the other.
REQUESTS = 100
LONE = 10
#: What the emulator hands to process at most.
BATCH = 10


@dataclass
class _Samples:
    """What the rounds of one size came to."""

    rate: list[float] = field(default_factory=list)
    until_commit_s: list[float] = field(default_factory=list)
    lone_s: list[float] = field(default_factory=list)
    process_rate: list[float] = field(default_factory=list)
    receive_s: list[float] = field(default_factory=list)


class _Bench:
    """The stack, and beside it the two handlers alone on the same Postgres and the same kind of requests."""

    def __init__(self, running: RunningStack, receive: Function, process: Function) -> None:
        self.running = running
        self._receive = receive
        self._process = process
        self._traffic = Traffic(seed=2)
        self.sent = 0
        self.samples = {size: _Samples() for size in SIZES}
        self.empty_rate: list[float] = []
        self.empty_s: list[float] = []
        self.queue_s: list[float] = []
        self._sqs = client("sqs", running.stack.aws_endpoint)
        self._queue_url = self._sqs.create_queue(QueueName="bench")["QueueUrl"]

    def round(self, *, keep: bool) -> None:
        """Measure everything once."""
        for size, kept in self.samples.items():
            samples = kept if keep else _Samples()
            flood = self.running.flood(self._requests(size, REQUESTS), threads=THREADS)
            samples.rate.append(REQUESTS * size / flood.seconds)
            samples.until_commit_s += flood.until_commit
            lone = self._requests(size, LONE)
            samples.lone_s.append(mean(self.running.flood(lone, threads=1).until_answer))
            samples.receive_s.append(self._accept(lone) / LONE)
            samples.process_rate.append(REQUESTS * size / self._fold(size))
        if keep:
            self.empty_rate.append(REQUESTS / timed(lambda: self._empty(REQUESTS, threads=THREADS)))
            self.empty_s.append(timed(lambda: self._empty(LONE, threads=1)) / LONE)
            self.queue_s.append(timed(self._through_queue) / LONE)

    def _requests(self, size: int, number: int) -> list[SignedRequest]:
        self.sent += size * number
        return signed_requests(self._traffic, self.running.keys, events=size, number=number)

    def _accept(self, requests: Sequence[SignedRequest]) -> float:
        """Hand the requests to receive, without the emulator."""

        def accept() -> None:
            for request in requests:
                accepted(self._receive, request)

        return timed(accept)

    def _fold(self, size: int) -> float:
        """Fold as many requests in the emulator's batches, without the emulator."""
        self.sent += size * REQUESTS
        bodies = [text for _ in range(REQUESTS) for text in envelopes(self._traffic.events(size))]
        batches = [bodies[start : start + BATCH] for start in range(0, len(bodies), BATCH)]

        def fold() -> None:
            for batch in batches:
                fold_all(self._process, batch)

        return timed(fold)

    def _empty(self, number: int, *, threads: int) -> None:
        """Send requests through the emulator that receive refuses at its first look."""
        with ThreadPoolExecutor(threads) as senders:
            nothing = SignedRequest(body=b"", headers={})
            sent = [senders.submit(self.running.post, nothing, source="nobody", status=404) for _ in range(number)]
            for one in sent:
                one.result()

    def _through_queue(self) -> None:
        """Send, receive and delete records one by one."""
        for _ in range(LONE):
            self._sqs.send_message(QueueUrl=self._queue_url, MessageBody="x" * 1_000)
            [record] = self._sqs.receive_message(QueueUrl=self._queue_url)["Messages"]
            self._sqs.delete_message(QueueUrl=self._queue_url, ReceiptHandle=record["ReceiptHandle"])


def measure(_lab: Lab, ticker: Ticker) -> Section:
    """Measure a local stack of its own."""
    section = Section(name="end to end")
    began_at = perf_counter()
    with ExitStack() as parts:
        ticker.tick("starting a stack")
        running = parts.enter_context(running_stack())
        started_s = perf_counter() - began_at
        receive = parts.enter_context(receive_alone(running.keys))
        dsn = running.stack.dsn.replace("mailfold_owner@", "mailfold_process@")
        process = process_function(dsn, sources=SOURCES)
        parts.callback(process.close)
        bench = _Bench(running, receive, process)
        for turn in range(ROUNDS + 1):
            bench.round(keep=turn > 0)
            ticker.tick(f"round {turn} of {ROUNDS}")
        if running.stored() != bench.sent:
            raise RuntimeError(f"{bench.sent} events were sent, but {running.stored()} are stored")
    _report(bench, section)
    section.notes.append(f"The stack was ready after {started_s:.0f} s; all {bench.sent:,} events are stored once.")
    return section


def _report(bench: _Bench, section: Section) -> None:
    for size, samples in bench.samples.items():
        what = f"end to end, {size} event{'s' if size > 1 else ''} a request"
        commits_ms = [seconds * 1000 for seconds in samples.until_commit_s]
        empty = [rate / size / empty_rate for rate, empty_rate in zip(samples.rate, bench.empty_rate, strict=True)]
        alone = [rate / alone_rate for rate, alone_rate in zip(samples.rate, samples.process_rate, strict=True)]
        share = [100 * (1 - receive_s / s) for s, receive_s in zip(samples.lone_s, samples.receive_s, strict=True)]
        section.add(what, samples.rate, unit="events/s")
        section.add(f"{what}, POST to commit, p50", commits_ms, unit="ms")
        section.add(f"{what}, POST to commit, p99", [percentile(commits_ms, 0.99)], unit="ms")
        section.add(f"{what}, over empty requests through the emulator", empty)
        section.add(f"{what}, over process alone in batches of {BATCH}", alone)
        section.add(f"{what}, share of a lone POST that is the emulator", share, unit="%")
    section.add("empty requests through the emulator", bench.empty_rate, unit="requests/s")
    section.add("a record through the emulator's queue", [1000 * each for each in bench.queue_s], unit="ms")
    section.notes += [_explain_clock(), _explain_bound(bench)]


def _explain_clock() -> str:
    return (
        f"{REQUESTS} requests at a time from {THREADS} threads, each with a connection of its own, the next one when "
        "the last is answered. POST to commit: from before the connection is opened until another connection sees the "
        f"request's claim, which is committed together with its events; it looks every {LOOK_S * 1000:.0f} ms."
    )


def _explain_bound(bench: _Bench) -> str:
    one = bench.samples[1]
    lone_ms, receive_ms, empty_ms = (1000 * median(each) for each in (one.lone_s, one.receive_s, bench.empty_s))
    return (
        f"A lone POST of one event takes {lone_ms:.1f} ms until 200, {receive_ms:.1f} ms of it receive with its AWS "
        f"client; a POST that receive refuses at its first look takes {empty_ms:.1f} ms. What bounds small requests is "
        "the emulator; with more events in each, process counts more. None of this is a figure of AWS."
    )
