"""A load with duplicates on worker processes that are killed, over a Postgres that is stopped; then an audit.

`make prove ONLY=kills` runs it at full size. The queue is the smallest that keeps SQS's promise: what is not
acknowledged comes again.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import wait
from pathlib import Path
from random import Random
from typing import Any

from cli.progress import Progress
from local.postgres import PostgresServer
from mailfold.errors import StoreError
from mailfold.fold import SOFT_LIMIT
from mailfold.jsontext import dumps
from mailfold.request import Source
from mailfold.steps.sweep import sweep
from mailfold.store.connection import Database
from mailfold.store.migrate import apply_migrations
from mailfold.telemetry import Telemetry
from samples import sampler
from tests.property.histories import Fact
from tests.property.reference import actual, expected
from tests.support.workers import Worker

SOURCE = "sesmetric"
EVENTS_PER_ENVELOPE = 20
RECORDS_PER_BATCH = 5
#: What the stack sets; a record that is received more often would be in the dead-letter queue.
MAX_RECEIVES = 159
SOURCES = {SOURCE: Source(name=SOURCE, provider=SOURCE)}


@dataclass
class Queue:
    """Hands out batches and takes back what was not acknowledged."""

    waiting: deque[tuple[int, ...]]
    receives: Counter[int] = field(default_factory=Counter)

    def take(self) -> tuple[int, ...] | None:
        """Return a batch that nobody works on."""
        if not self.waiting:
            return None
        batch = self.waiting.popleft()
        self.receives.update(batch)
        return batch

    def give_back(self, batch: tuple[int, ...]) -> None:
        """Let somebody else try."""
        if batch:
            self.waiting.append(batch)


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is sent: records of envelopes, some of them copies and some events twice in different company."""

    raws: list[dict[str, Any]]
    bodies: list[str]


def make_load(*, events: int, duplicates: float, rng: Random) -> Load:
    """Make distinct events, and copies of that share of them in other envelopes."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    speaker = sampler(SOURCE)
    distinct = round(events * (1 - duplicates))
    moments = [now + timedelta(seconds=rng.randrange(86400)) for _ in range(distinct)]
    raws = [speaker.generate(rng, f"c{number}", at) for number, at in enumerate(moments)]
    sent = raws + rng.choices(raws, k=events - distinct)
    rng.shuffle(sent)
    chunks = [sent[start : start + EVENTS_PER_ENVELOPE] for start in range(0, len(sent), EVENTS_PER_ENVELOPE)]
    return Load(raws=raws, bodies=[_envelope(number, chunk) for number, chunk in enumerate(chunks)])


def _envelope(number: int, events: list[dict[str, Any]]) -> str:
    head = {"mailfold": 1, "source": SOURCE, "provider": SOURCE, "claim_key": f"chaos:{number}", "request_hash": "h"}
    return dumps({**head, "received_at": "2026-01-01T00:00:00+00:00", "headers": {}, "events": events})


class BusyWorker(Worker):
    """A worker and what it is working on."""

    batch: tuple[int, ...] = ()

    def take(self, batch: tuple[int, ...], load: Load, receives: Counter[int]) -> None:
        """Hand a batch over."""
        self.batch = batch
        self.start([{"record_id": str(n), "body": load.bodies[n], "receive_count": receives[n]} for n in batch])


@dataclass
class Tally:
    """What was done to the load."""

    kills: int = 0
    restarts: int = 0
    #: Batches that were answered, and those of them that were rolled back and came again.
    batches: int = 0
    rolled_back: int = 0


def run(
    load: Load, server: PostgresServer, *, kills: int, restarts: int, workers: int, rng: Random
) -> tuple[Queue, Tally]:
    """Work the load off while killing and restarting, as often as asked, spread over it."""
    numbers = list(range(len(load.bodies)))
    batches = [tuple(numbers[start : start + RECORDS_PER_BATCH]) for start in range(0, len(numbers), RECORDS_PER_BATCH)]
    queue, tally = Queue(deque(batches)), Tally()
    url = server.url(user="mailfold_process")
    crew = [BusyWorker(url, SOURCES, {}) for _ in range(workers)]
    progress = Progress("load", len(batches))
    done = 0
    while done < len(batches):
        # A little ahead of the work, so that the last of both still finds some.
        share = min(1.0, (done + len(crew)) / len(batches))
        for place, worker in enumerate(crew):
            if worker.batch or not (batch := queue.take()):
                continue
            worker.take(batch, load, queue.receives)
            if tally.kills < kills * share:
                _into_the_work(rng)
                worker.kill()
                queue.give_back(batch)
                crew[place] = BusyWorker(url, SOURCES, {})
                tally.kills += 1
        if tally.restarts < restarts * share:
            server.stop(mode="immediate")
            server.start()
            tally.restarts += 1
        done += _hear(crew, queue, tally)
        progress.reach(done)
    for worker in crew:
        worker.kill()
    return queue, tally


def _into_the_work(rng: Random) -> None:
    """Let a worker get somewhere with its batch, which takes it some ten milliseconds."""
    time.sleep(rng.uniform(0, 0.015))


def _hear(crew: list[BusyWorker], queue: Queue, tally: Tally) -> int:
    done = 0
    busy = {worker.pipe: worker for worker in crew if worker.batch}
    for pipe in wait(list(busy), timeout=0.01):
        worker = busy[pipe]  # type: ignore[index]
        try:
            failed = tuple(int(number) for number in worker.pipe.recv())
        except (EOFError, ConnectionResetError):
            continue
        tally.batches += 1
        tally.rolled_back += bool(failed)
        done += not failed
        queue.give_back(failed)
        worker.batch = ()
    return done


#: What must be zero for the audit to be clean.
CLEAN = ("lost", "doubled", "wrong tables", "dead letters", "dead-letter queue")


def audit(load: Load, owner: Database, queue: Queue) -> dict[str, Any]:
    """Compare the tables with the fold of the set."""
    wanted = expected([Fact(SOURCE, lambda _, raw=raw: raw) for raw in load.raws], "")
    sweep(owner, Telemetry("sweep"), soft_limit=SOFT_LIMIT, publish=False)
    found = actual(owner, "")
    counted = owner.execute("select cast(sum(cast(result ->> 'new' as bigint)) as bigint) from claims")[0][0]
    return {
        "sent": len(load.raws),
        "stored": len(found["events"]),
        "lost": len(wanted["events"].keys() - found["events"].keys()),
        # Every claim recorded how many events it was the first to store.
        "doubled": counted - len(load.raws),
        "wrong tables": [table for table in wanted if found[table] != wanted[table]],
        "dead letters": len(found["dead_letters"]),
        "dead-letter queue": sum(count > MAX_RECEIVES for count in queue.receives.values()),
    }


def chaos(*, events: int, kills: int, restarts: int, seed: int, workers: int = 4) -> dict[str, Any]:
    """Run one load and audit it."""
    rng = Random(seed)
    load = make_load(events=events, duplicates=0.3, rng=rng)
    with tempfile.TemporaryDirectory() as scratch, PostgresServer(Path(scratch) / "postgres") as server:
        owner = Database(server.url())
        apply_migrations(owner)
        queue, tally = run(load, server, kills=kills, restarts=restarts, workers=workers, rng=rng)
        found = _audit_when_up(load, owner, queue)
        owner.close()
    return {**asdict(tally), **found}


def _audit_when_up(load: Load, owner: Database, queue: Queue) -> dict[str, Any]:
    for _ in _patience():
        try:
            return audit(load, owner, queue)
        except StoreError:
            owner.close()
    raise AssertionError("the database did not come back")


def _patience() -> Iterator[int]:
    for attempt in range(20):
        yield attempt
        time.sleep(0.2)


def main() -> None:
    """Run at the size that was asked for and exit with the audit's verdict."""
    parser = argparse.ArgumentParser(prog="make prove ONLY=kills", description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=20261118)
    arguments = parser.parse_args()
    began = time.monotonic()
    found = chaos(**vars(arguments))
    print(json.dumps({**found, "seconds": round(time.monotonic() - began)}, indent=2))
    sys.exit(any(found[name] for name in CLEAN))


if __name__ == "__main__":
    main()
