"""The real process step on a real Postgres, delivered to as SQS would: again and again until it is acknowledged."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from mailfold.fold import SOFT_LIMIT
from mailfold.queue import Record
from mailfold.steps.process import ProcessContext, process
from mailfold.steps.sweep import sweep
from mailfold.store.connection import Database, Parameter, Rows
from mailfold.telemetry import Telemetry
from tests.property.histories import History, envelope_body
from tests.property.reference import SOURCES

NUMBERS = count(1)
#: SQS would send a record to its dead-letter queue after this many receives.
MAX_RECEIVES = 159


class Crash(Exception):
    """The process dies here."""


class FragileDatabase(Database):
    """A database whose client dies, or whose connection breaks, at one statement."""

    def __init__(self, url: str, admin: Database) -> None:
        super().__init__(url)
        self._admin = admin
        self.statements = 0
        self.crash_at: int | None = None
        self.how = "exception"

    def execute(self, sql: str) -> Rows:
        """Run a statement, unless this is where it ends."""
        return self._fragile(lambda: super(FragileDatabase, self).execute(sql), sql)

    def run(self, name: str, parameters: Mapping[str, Parameter]) -> Rows:
        """Run a statement, unless this is where it ends."""
        return self._fragile(lambda: super(FragileDatabase, self).run(name, parameters), name)

    def _fragile(self, run: Callable[[], Rows], name: str) -> Rows:
        number, self.statements = self.statements, self.statements + 1
        if number != self.crash_at or name == "rollback":
            return run()
        if self.how == "after":
            # The server did it, and the client never heard: inside COMMIT this is the case that matters.
            run()
        if self.how in {"connection", "after"}:
            self._terminate()
            return run()
        # A process that dies takes its connection with it.
        self.close()
        raise Crash(name)

    def _terminate(self) -> None:
        if self._connection is not None:
            port = self._connection._usock.getsockname()[1]
            self._admin.execute(
                f"select pg_terminate_backend(pid, 1000) from pg_stat_activity where client_port = {port}"
            )


class Pipeline:
    """Workers over one database."""

    def __init__(self, process_url: str, owner_url: str) -> None:
        self.process_url = process_url
        self.admin = Database(owner_url)
        self.database = FragileDatabase(process_url, self.admin)

    def deliver(self, history: History, mark: str, *, crash: tuple[int, str] | None = None) -> None:
        """Deliver every batch in order, from one worker that may die once."""
        self.database.statements = 0
        self.database.crash_at, self.database.how = crash or (None, "")
        for batch in history.batches:
            self._until_acknowledged(_records(history, batch, mark), self.database)
        self.database.crash_at = None

    def hand_over(self, history: History, mark: str, database: Database, reasons: list[str]) -> None:
        """Deliver every batch from one of several workers."""
        for batch in history.batches:
            self._until_acknowledged(_records(history, batch, mark), database, reasons)

    def deliver_concurrently(self, history: History, mark: str, *, workers: int) -> list[str]:
        """Deliver every batch to several workers at once, each in its own order; return why any was rolled back."""
        reasons: list[str] = []
        start = threading.Barrier(workers)
        batches = [_records(history, batch, mark) for batch in history.batches]
        failures: list[BaseException] = []

        def work(number: int) -> None:
            database = Database(self.process_url)
            try:
                start.wait()
                for batch in batches[number % len(batches) :] + batches[: number % len(batches)]:
                    self._until_acknowledged(batch, database, reasons)
            except BaseException as exc:
                failures.append(exc)
            finally:
                database.close()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return reasons

    def _until_acknowledged(self, records: list[Record], database: Database, reasons: list[str] | None = None) -> None:
        for receive in range(1, MAX_RECEIVES):
            with contextlib.suppress(Crash):
                received = [_again(record, receive) for record in records]
                failed = set(process(received, _bench(database, reasons)).failed)
                records = [record for record in records if record.record_id in failed]
            if not records:
                return
        raise AssertionError(f"{len(records)} records would be in the dead-letter queue")

    def sweep(self) -> None:
        """Derive the soft stops from the store."""
        sweep(self.admin, _Notes([], "sweep"), soft_limit=SOFT_LIMIT, publish=False)

    def tidy(self) -> None:
        """Empty the tables, so that looking for one history's rows stays quick."""
        self.admin.execute(
            "truncate email_events, message_status, suppressions, claims, dead_letters, outbox, daily_totals"
        )

    def close(self) -> None:
        """Forget the connections."""
        self.database.close()
        self.admin.close()


def _records(history: History, batch: Sequence[Sequence[int]], mark: str) -> list[Record]:
    bodies = [body for envelope in batch for body in envelope_body([history.facts[place] for place in envelope], mark)]
    return [
        Record(record_id=f"{mark}-{number}", body=body, receive_count=1, sent_at=datetime.now(UTC))
        for number, body in enumerate(bodies)
    ]


def _again(record: Record, receive: int) -> Record:
    return replace(record, receive_count=receive)


def _bench(database: Database, reasons: list[str] | None) -> ProcessContext:
    return ProcessContext(
        database=database,
        sources=SOURCES,
        topics={},
        publish=False,
        remaining_ms=lambda: 60_000,
        telemetry=_Notes([] if reasons is None else reasons),
    )


class _Notes(Telemetry):
    def __init__(self, reasons: list[str], step: str = "process") -> None:
        super().__init__(step)
        self._reasons = reasons

    def say(self, message: str, **facts: str | int | None) -> None:
        """Say nothing."""

    def warn(self, message: str, **facts: str | int | None) -> None:
        """Keep the reason instead of printing it."""
        self._reasons.append(str(facts.get("reason")))


def marks() -> Iterator[str]:
    """Yield what makes each history's rows its own."""
    return (f"h{number}x" for number in NUMBERS)
