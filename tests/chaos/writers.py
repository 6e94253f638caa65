"""Writers that commit and roll back changes of a few messages and addresses that they all share."""

import os
import signal
import time
from pathlib import Path
from random import Random
from typing import Any

from mailfold.errors import TransientStoreError
from mailfold.steps.process import ProcessContext, process
from mailfold.store.connection import Rows
from mailfold.telemetry import Telemetry
from tests.support.databases import WatchedDatabase
from tests.support.records import SOURCES, envelope, raw, record

MESSAGES = 8
ADDRESSES = 4
#: How far a commit may be from the statement before it: far enough for publish to look in between.
COMMIT_S = 0.08
#: One batch in so many fails at a statement before its commit.
ROLLED_BACK_EACH = 3


def batch(writer: int, number: int, rng: Random) -> str:
    """Make changes of a few messages and addresses that all writers share; each names its writer and batch."""
    mark = f"w{writer}-{number}"
    messages = rng.sample(range(MESSAGES), 4)
    statuses = [raw(f"{mark}-{n}", message_id=f"m{n}", recipient=f"{mark}@example.com") for n in messages]
    minute = f"2026-01-01T{number // 60 % 24:02}:{number % 60:02}:{rng.randrange(60):02}Z"
    address = f"a{rng.randrange(ADDRESSES)}@example.com"
    kind = rng.choice(["complaint", "resubscribe"])
    decision = raw(f"{mark}-decision", kind, at=minute, message_id=f"own-{mark}", recipient=address)
    return envelope(*statuses, decision, body=mark.encode())


class SlowToCommit(WatchedDatabase):
    """A connection on which others commit between a writer's last statement and its commit."""

    def __init__(self, url: str, rng: Random) -> None:
        super().__init__(url)
        self._rng = rng

    def execute(self, sql: str) -> Rows:
        if sql == "commit":
            time.sleep(self._rng.uniform(0, COMMIT_S))
        return super().execute(sql)


def write(url: str, fates: Path, writer: int, seed: int) -> None:
    """Commit and roll back batches until this process is ended, and note each one's fate."""
    silence()
    rng = Random(seed * 100 + writer)
    database = SlowToCommit(url, rng)
    context = ProcessContext(
        database=database,
        sources=SOURCES,
        topics={},
        publish=True,
        remaining_ms=lambda: 60_000,
        telemetry=Telemetry("process"),
    )
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    signal.signal(signal.SIGTERM, end)
    number = 0
    with fates.open("w", buffering=1) as file:
        while not ended:
            number += 1
            if rolled_back := rng.randrange(ROLLED_BACK_EACH) == 0:
                # claim, fold or complete: before it, or when it is done and nothing but the commit is missing.
                database.fail_at(rng.choice([2, 3, 4]), TransientStoreError("gone"), done=rng.random() < 0.7)
            failed = process([record(batch(writer, number, rng))], context).failed
            assert bool(failed) is rolled_back
            file.write(f"{'rolled back' if rolled_back else 'committed'} w{writer}-{number}\n")


def silence() -> None:
    """Leave Ctrl-C and the terminal to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def mark_of(detail: dict[str, Any]) -> str:
    """Return which writer's which batch a change is from."""
    body = detail["body"]
    if "because" in body:
        return str(body["because"]["event_id"]).removeprefix("sesmetric:").removesuffix("-decision")
    message_id: str = body["message_id"]
    return message_id.removeprefix("own-") if message_id.startswith("own-") else body["recipient"].partition("@")[0]
