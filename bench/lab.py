"""A real Postgres server with databases at the newest schema, and the real functions on them."""

import contextlib
import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from local.postgres import PostgresServer
from local.testing.events import sqs_event
from local.testing.handlers import Context, load_handler
from mailfold.store.connection import Database
from mailfold.store.migrate import apply_migrations

#: Durability is Postgres' default. Room for the write-ahead log and the buffers keeps checkpoints, which would hit one
#: way and spare another, out of short measurements.
SETTINGS = {"shared_buffers": "6GB", "max_wal_size": "24GB", "checkpoint_timeout": "30min"}
_NUMBERS = count(1)


class Lab:
    """One server; every benchmark makes the databases it needs."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self._admin = Database(server.url())
        self._admin.execute("create database lab_template")
        migrated = Database(server.url("lab_template"))
        apply_migrations(migrated)
        migrated.close()

    def close(self) -> None:
        """Let go of the server."""
        self._admin.execute("drop database lab_template")
        self._admin.close()

    def database(self) -> str:
        """Return the name of a new, migrated, empty database."""
        name = f"bench_{next(_NUMBERS)}"
        self._admin.execute(f"create database {name} template lab_template")
        return name

    def copy(self, name: str) -> str:
        """Return the name of a copy of a database that nobody is connected to."""
        copied = f"bench_{next(_NUMBERS)}"
        self._admin.execute(f"create database {copied} template {name} strategy file_copy")
        return copied

    def drop(self, name: str) -> None:
        """Remove a database."""
        self._admin.execute(f"drop database {name} with (force)")

    def owner(self, name: str) -> Database:
        """Return a connection that may do everything."""
        return Database(self.server.url(name))

    def url(self, name: str, role: str) -> str:
        """Return the address of a database for one role."""
        return self.server.url(name, role)


@contextlib.contextmanager
def open_lab() -> Iterator[Lab]:
    """Start a server in a folder that is gone afterwards."""
    # Beside the project, not in /tmp, which may be memory: an fsync has to cost what it costs on a disk.
    with (
        tempfile.TemporaryDirectory(
            dir=Path(__file__).parents[1], prefix=".bench-", ignore_cleanup_errors=True
        ) as folder,
        PostgresServer(Path(folder) / "postgres", settings=SETTINGS) as server,
    ):
        yield Lab(server)


class Function:
    """One step's real handler under an environment of its own; what it prints is kept away from the report."""

    def __init__(self, step: str, environment: Mapping[str, str]) -> None:
        self._patch = pytest.MonkeyPatch()
        #: What the last invocation wrote: its log lines and metrics.
        self.printed = ""
        with self._quiet():
            self.module: ModuleType = load_handler(step, self._patch, environment)

    def __call__(self, event: Mapping[str, Any], remaining_ms: int = 60_000) -> Any:
        """Invoke the handler."""
        with self._quiet() as words:
            answer = self.module.handler(event, Context(remaining_ms))
        self.printed = words.getvalue()
        return answer

    def close(self) -> None:
        """Let go of the connection and of the environment."""
        if hasattr(self.module, "database"):
            self.module.database.close()
        self._patch.undo()

    @contextlib.contextmanager
    def _quiet(self) -> Iterator[io.StringIO]:
        with contextlib.redirect_stdout(io.StringIO()) as words:
            yield words


def process_function(url: str, *, sources: str, publish: bool = False) -> Function:
    """Return process on this database."""
    environment = {"SOURCES": sources, "TOPICS": "{}", "DATABASE_URL": url, "PUBLISH": str(publish).lower()}
    return Function("process", environment)


def fold_all(process: Function, bodies: Sequence[str]) -> None:
    """Hand records to process and insist that all of them are taken."""
    taken(process, sqs_event(bodies))


def taken(process: Function, event: Mapping[str, Any]) -> None:
    """Invoke process and insist that no record comes back."""
    answer = process(event)
    if answer["batchItemFailures"]:
        raise RuntimeError(f"process gave {len(answer['batchItemFailures'])} records back")
