"""Execution environments that can really die: process in a process of its own."""

import multiprocessing
import os
import signal
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any

from mailfold.queue import Record
from mailfold.request import Source
from mailfold.steps.process import ProcessContext, process
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry


def work(pipe: Connection, url: str, sources: Mapping[str, Source], topics: Mapping[str, str]) -> None:
    """Fold batches until it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    database = Database(url)
    telemetry = Telemetry("process")
    while True:
        records = [Record(**fields, sent_at=datetime.now(UTC)) for fields in pipe.recv()]
        context = ProcessContext(
            database=database,
            sources=sources,
            topics=topics,
            publish=False,
            remaining_ms=lambda: 60_000,
            telemetry=telemetry,
        )
        pipe.send(process(records, context).failed)


class Worker:
    """A process and its pipe."""

    def __init__(self, url: str, sources: Mapping[str, Source], topics: Mapping[str, str]) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        # Not a daemon: those may not have children.
        self.process = context.Process(target=work, args=(theirs, url, sources, topics))
        self.process.start()
        theirs.close()

    def start(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Hand a batch over."""
        self.pipe.send(list(records))

    def deliver(self, records: Sequence[Record]) -> list[str] | None:
        """Hand a batch over and wait; return what it reports as failed, None if it died."""
        self.start([{"record_id": r.record_id, "body": r.body, "receive_count": r.receive_count} for r in records])
        try:
            return list(self.pipe.recv())
        except (EOFError, ConnectionResetError):
            return None

    def kill(self) -> None:
        """Kill the process wherever it is."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
