"""A large store is pruned while events come in: killed in the middle, finished by the next run, and not a total moves.

`make prove ONLY=prune` is the long form. Both functions are the real handlers, each in its own
process.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.preload import SQL
from cli.progress import Progress
from local.binaries import find_binaries
from local.postgres import PostgresServer
from local.testing.events import sqs_event
from local.testing.handlers import Context, load_handler
from mailfold.jsontext import dumps
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.request import Source
from mailfold.steps import prune as prune_step
from mailfold.store.connection import Database
from mailfold.store.migrate import apply_migrations
from mailfold.store.reading import read
from samples import Raw

SOURCE = "sendgrid"
KINDS = ("processed", "delivered", "open")
#: The loaded rows were received over the 30 days before this one, so that five of six are past the window of 30 days.
LOADED_UNTIL = timedelta(days=25)
LOADED_DAYS = 30
EVENTS_PER_BATCH = 100
LONG_MS = 900_000
FORK = multiprocessing.get_context("fork")

Totals = Counter[tuple[str, str, str, str | None]]


def load(server: PostgresServer, rows: int, now: datetime) -> None:
    """Fill the store in SQL alone."""
    variables = ("-v", "ON_ERROR_STOP=1", "-v", f"rows={rows}", "-v", f"now={(now - LOADED_UNTIL).isoformat()}")
    for part in ("preload_strip", "preload_events", "preload_statuses", "preload_settle"):
        command = (find_binaries() / "psql", "-Xq", *variables, "-f", SQL / f"{part}.sql", server.url())
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def raw_of(number: int, now: datetime) -> Raw:
    """Return one event; every other one comes late and belongs to a day that prune is freezing."""
    rng = Random(number)
    late = LOADED_UNTIL + timedelta(days=rng.uniform(0, LOADED_DAYS)) if number % 2 else timedelta(0)
    return {
        "event": rng.choice(KINDS),
        "email": f"{number % 977}@example.com",
        "timestamp": int((now - late).timestamp()),
        "sg_event_id": f"chaos-{number}",
        "sg_message_id": f"chaos-message-{number // 3}",
    }


def totals_of(numbers: range, now: datetime) -> Totals:
    """Count events as the totals would, each of them once."""
    origin = Origin(source=Source(name=SOURCE, provider=SOURCE), received_at=now, headers={})
    events = {
        event.event_id: event for n in numbers for event in REGISTRY[SOURCE].parse(raw_of(n, now), origin)
    }.values()
    return Counter((f"{e.occurred_at:%Y-%m-%d}", e.source, str(e.type), e.bounce_class) for e in events)


def totals(owner: Database, now: datetime) -> Totals:
    """Return what is stored and what is frozen, added up."""
    with owner.transaction() as tx:
        rows = read(tx, "read_totals", {"days": 3650, "now": now.isoformat(), "sources": "null"})
    return Counter({(row["day"], row["source"], row["type"], row["bounce_class"]): row["events"] for row in rows})


def ingest(pipe: Connection, url: str, now: datetime) -> None:
    """Send batch after batch to process until told to stop: new events, late ones, and copies of earlier ones."""
    environment = {"SOURCES": dumps({SOURCE: {"provider": SOURCE}}), "TOPICS": "{}", "DATABASE_URL": url}
    process = _quietly("process", {**environment, "PUBLISH": "false"})
    sent, copies, failed, slowest = 0, 0, 0, 0.0
    earlier: list[str] = []
    while not pipe.poll():
        fresh = [raw_of(number, now) for number in range(sent, sent + EVENTS_PER_BATCH)]
        again = [raw_of(number, now) for number in range(max(0, sent - 50), sent)]
        bodies = [_envelope(f"new-{sent}", fresh), _envelope(f"copies-{sent}", fresh[:30] + again), *earlier]
        began_at = time.monotonic()
        failed += len(process.handler(sqs_event(bodies), Context())["batchItemFailures"])
        slowest = max(slowest, time.monotonic() - began_at)
        sent, copies, earlier = sent + len(fresh), copies + 30 + len(again) + 200 * bool(earlier), bodies[:2]
    pipe.send({"sent": sent, "copies": copies, "failed": failed, "slowest_ms": round(slowest * 1000)})


def prune(pipe: Connection, url: str, batch_rows: int) -> None:
    """Run the nightly prune and report its answer."""
    prune_step.BATCH_ROWS = batch_rows
    function = _quietly("prune", {"DATABASE_URL": url, "RETENTION": "{}"})
    pipe.send(function.handler({}, Context(LONG_MS)))


def _quietly(step: str, environment: dict[str, str]) -> Any:
    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  # for as long as the process lives
    return load_handler(step, pytest.MonkeyPatch(), environment)


def _envelope(name: str, events: list[Raw]) -> str:
    head = {"mailfold": 1, "source": SOURCE, "provider": SOURCE, "claim_key": f"chaos:{name}", "request_hash": "h"}
    return dumps({**head, "received_at": datetime.now(UTC).isoformat(), "headers": {}, "events": events})


class Child:
    """A process of its own, and the way to hear from it."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = FORK.Process(target=work, args=(theirs, *arguments), daemon=True)
        self.process.start()
        theirs.close()

    def answer(self) -> dict[str, Any]:
        """Wait for what it reports at its end."""
        answer: dict[str, Any] = self.pipe.recv()
        self.process.join()
        return answer

    def kill(self) -> None:
        """Take it away in the midst of whatever it does."""
        self.process.kill()
        self.process.join()


def await_work(owner: Database, child: Child, progress: Progress, *, frozen: int) -> None:
    """Return while prune is inside a transaction, having committed at least so many rows."""
    busy = "select count(*) from pg_stat_activity where usename = 'mailfold_prune' and state <> 'idle'"
    while child.process.is_alive():
        [[done, active]] = owner.execute(f"select coalesce(sum(events), 0), ({busy}) from daily_totals")
        progress.reach(int(done))
        if done >= frozen and active:
            return
        time.sleep(0.001)
    raise AssertionError("prune had ended before it could be killed")


def await_end(owner: Database) -> None:
    """Return once the server has noticed that prune is gone: what was sent last may still be carried out."""
    while owner.execute("select 1 from pg_stat_activity where usename = 'mailfold_prune'"):
        time.sleep(0.01)


def chaos(*, rows: int, batch_rows: int = prune_step.BATCH_ROWS) -> dict[str, Any]:
    """Load, ingest, prune, kill, prune again, and compare the totals."""
    settings = {"shared_buffers": "256MB", "max_wal_size": "4GB"}
    with tempfile.TemporaryDirectory() as scratch, PostgresServer(Path(scratch) / "pg", settings=settings) as server:
        owner = Database(server.url())
        apply_migrations(owner)
        now = datetime.now(UTC).replace(microsecond=0)
        load(server, rows, now)
        found = _prune_twice(server, owner, rows=rows, batch_rows=batch_rows, now=now)
        owner.close()
    return found


def _prune_twice(
    server: PostgresServer, owner: Database, *, rows: int, batch_rows: int, now: datetime
) -> dict[str, Any]:
    before = totals(owner, now)
    sender = Child(ingest, server.url(user="mailfold_process"), now)
    url = server.url(user="mailfold_prune")
    began_at = time.monotonic()
    first = Child(prune, url, batch_rows)
    # Five of six rows are past the window.
    progress = Progress("prune", rows * 5 // 6)
    await_work(owner, first, progress, frozen=rows // 3)
    first.kill()
    killed_at = time.monotonic()
    await_end(owner)
    [[frozen]] = owner.execute("select cast(sum(events) as bigint) from daily_totals")
    second = Child(prune, url, batch_rows).answer()
    ended_at = time.monotonic()
    progress.reach(frozen + second["events"])
    sender.pipe.send("stop")
    sent = sender.answer()
    after, wanted = totals(owner, now), before + totals_of(range(sent["sent"]), now)
    return {
        "rows": rows,
        "pruned by the run that was killed": frozen,
        "seconds until it was killed": round(killed_at - began_at, 1),
        "pruned by the next run": second["events"],
        "seconds of the next run": round(ended_at - killed_at, 1),
        "finished": second["finished"],
        "ingested meanwhile": sent["sent"],
        "copies sent meanwhile": sent["copies"],
        "records that came back": sent["failed"],
        "slowest batch in ms": sent["slowest_ms"],
        "events by the totals": after.total(),
        "totals that differ": sum(after[key] != wanted[key] for key in after.keys() | wanted.keys()),
        "rows past the window": _past_window(owner, now),
    }


def _past_window(owner: Database, now: datetime) -> int:
    cutoff = (now - timedelta(days=30)).isoformat()
    return int(owner.execute(f"select count(*) from email_events where received_at < '{cutoff}'")[0][0])


def is_clean(found: dict[str, Any]) -> bool:
    """Tell whether everything is as it must be."""
    wrong = ("totals that differ", "rows past the window", "records that came back")
    return found["finished"] and not any(found[name] for name in wrong)


def main() -> None:
    """Run at the size that was asked for and exit with the verdict."""
    parser = argparse.ArgumentParser(prog="make prove ONLY=prune", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    found = chaos(rows=parser.parse_args().rows)
    print(json.dumps(found, indent=2))
    sys.exit(not is_clean(found))


if __name__ == "__main__":
    main()
