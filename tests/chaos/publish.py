"""publish is killed while writers commit and roll back; then an audit of what the bus has seen.

The bus refuses some events and loses some answers. Every committed change must be published at least once, in order for
each message and each address, and nothing of a batch that was rolled back.
"""

import argparse
import importlib.util
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import boto3  # noqa: F401 - here, so that a publisher finds it loaded and starts in a tenth of the time

from cli.progress import Progress
from local.postgres import PostgresServer
from local.testing.handlers import COMMON, FUNCTIONS, Context
from mailfold.store.connection import Database
from mailfold.store.migrate import apply_migrations
from tests.chaos.bus_stub import serve
from tests.chaos.writers import mark_of, silence, write

FORK = multiprocessing.get_context("fork")
WRITERS = 3
#: How long a publisher may live after its first event: some die in their first page, some after many.
LIVES_S = (0.05, 1.5)
#: What must be zero for the audit to be clean.
CLEAN = ("lost", "out of order", "out of the writers' order", "from a rollback", "unknown")


def publish_for_ever(url: str, port: int) -> None:
    """Run the real function again and again, as its schedule would, but without the minute in between."""
    silence()
    os.environ.update(COMMON, POWERTOOLS_SERVICE_NAME="publish", DATABASE_URL=url, BUS_NAME="bus")
    os.environ["AWS_ENDPOINT_URL_EVENTBRIDGE"] = f"http://127.0.0.1:{port}"
    spec = importlib.util.spec_from_file_location("handler_of_publish", FUNCTIONS / "publish/handler.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    while True:
        module.handler({}, Context(300_000))


@dataclass(frozen=True, kw_only=True)
class Room:
    """Where one run takes place."""

    server: PostgresServer
    folder: Path
    seed: int
    #: Whether the bus still refuses and loses.
    faulty: Any = field(default_factory=lambda: FORK.Value("i", 1))

    @property
    def log(self) -> Path:
        """What the bus has taken."""
        return self.folder / "bus.jsonl"

    def seen(self) -> int:
        """Return how many bytes the bus has taken so far."""
        return self.log.stat().st_size if self.log.exists() else 0


def chaos(*, kills: int, seed: int) -> dict[str, Any]:
    """Kill publish that many times and audit what came of it."""
    with tempfile.TemporaryDirectory() as scratch, PostgresServer(Path(scratch) / "postgres") as server:
        owner = Database(server.url())
        apply_migrations(owner)
        room = Room(server=server, folder=Path(scratch), seed=seed)
        hit = _run(room, owner, kills)
        found = audit(room, owner)
        owner.close()
    return {"kills": kills, "kills in mid-flight": hit, **found}


def _run(room: Room, owner: Database, kills: int) -> int:
    ours, theirs = FORK.Pipe()
    bus = FORK.Process(target=serve, args=(theirs, room.log, room.faulty, room.seed), daemon=True)
    bus.start()
    port = ours.recv()
    url = room.server.url(user="mailfold_process")
    writers = [
        FORK.Process(target=write, args=(url, room.folder / f"fates{n}", n, room.seed), daemon=True)
        for n in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    try:
        hit = _kill_again_and_again(room, owner, port, kills)
        for writer in writers:
            writer.terminate()
            writer.join()
            assert writer.exitcode == 0, "a writer failed"
        room.faulty.value = 0
        _publish_the_rest(room, owner, port)
    finally:
        for process_ in (bus, *writers):
            process_.kill()
            process_.join()
    return hit


def _start(room: Room, port: int) -> Any:
    publisher = FORK.Process(
        target=publish_for_ever, args=(room.server.url(user="mailfold_publish"), port), daemon=True
    )
    publisher.start()
    return publisher


def _kill_again_and_again(room: Room, owner: Database, port: int, kills: int) -> int:
    """Kill each publisher some time after its first event; return how many died in an open transaction."""
    rng, hit = Random(room.seed), 0
    busy = "select count(*) from pg_stat_activity where usename = 'mailfold_publish' and state like '%in transaction'"
    progress = Progress("kills", kills)
    for _ in range(kills):
        before = room.seen()
        publisher = _start(room, port)
        _await(lambda before=before: room.seen() > before)
        time.sleep(rng.uniform(0, rng.choice(LIVES_S)))
        os.kill(publisher.pid, signal.SIGSTOP)
        hit += owner.execute(busy)[0][0]
        publisher.kill()
        publisher.join()
        progress.advance()
    return hit


def _publish_the_rest(room: Room, owner: Database, port: int) -> None:
    publisher = _start(room, port)
    _await(lambda: owner.execute("select count(*) from outbox where published_at is null") == [[0]])
    publisher.kill()
    publisher.join()


def _await(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "publish makes no headway"
        time.sleep(0.005)


def audit(room: Room, owner: Database) -> dict[str, Any]:
    """Compare what the bus has taken with what was committed, by its numbers and by what the writers know."""
    details = [json.loads(line) for line in room.log.read_text().splitlines()]
    # A dict keeps the place of whatever came first under a key.
    first = list({detail["id"]: detail for detail in details}.values())
    committed = dict(owner.execute("select outbox_id, key from outbox"))
    fates = [line.rsplit(" ", 1) for file in room.folder.glob("fates*") for line in file.read_text().splitlines()]
    rolled_back = {mark for fate, mark in fates if fate == "rolled back"}
    numbers, batches = defaultdict(list), defaultdict(list)
    for detail in first:
        writer, number = mark_of(detail).split("-")
        numbers[detail["key"]].append(detail["sequence"])
        batches[detail["key"], writer].append(int(number))
    return {
        "batches committed": len(fates) - len(rolled_back),
        "batches rolled back": len(rolled_back),
        "changes": len(committed),
        "published": len(details),
        "twice or more": len(details) - len(first),
        "lost": len(committed.keys() - {detail["sequence"] for detail in first}),
        "out of order": sum(seen != sorted(seen) for seen in numbers.values()),
        "out of the writers' order": sum(seen != sorted(seen) for seen in batches.values()),
        "from a rollback": sum(mark_of(detail) in rolled_back for detail in first),
        "unknown": sum(committed.get(detail["sequence"]) != detail["key"] for detail in first),
    }


def main() -> None:
    """Run at the size that was asked for and exit with the audit's verdict."""
    parser = argparse.ArgumentParser(prog="make prove ONLY=publish", description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=20261118)
    arguments = parser.parse_args()
    began = time.monotonic()
    found = chaos(**vars(arguments))
    print(json.dumps({**found, "seconds": round(time.monotonic() - began)}, indent=2))
    sys.exit(any(found[name] for name in CLEAN))


if __name__ == "__main__":
    main()
