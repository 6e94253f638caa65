"""Databases of one test each, and databases that count what they are asked and fail where a test wants them to."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count

from local.postgres import PostgresServer
from mailfold.store.connection import Database, Parameter, Rows
from mailfold.store.migrate import apply_migrations

#: How often a session that a test has closed is looked for before it is ended by force.
LOOKS = 100


class Databases:
    """Makes databases on one server, and drops them."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._numbers = count(1)
        self._admin = Database(server.url())
        self._migrated: str | None = None

    @contextmanager
    def empty(self) -> Iterator[str]:
        """Make a database that only one test uses, and give its name."""
        with self._made("") as name:
            yield name

    @contextmanager
    def migrated(self) -> Iterator[str]:
        """Make a database with the whole schema, copied from one that was migrated once."""
        if self._migrated is None:
            self._admin.execute("create database migrated")
            database = Database(self._server.url("migrated"))
            apply_migrations(database)
            database.close()
            self._migrated = "migrated"
        with self._made(f"template {self._migrated}") as name:
            yield name

    def close(self) -> None:
        """Leave the server."""
        self._admin.close()

    @contextmanager
    def _made(self, options: str) -> Iterator[str]:
        name = f"test_{next(self._numbers)}"
        self._admin.execute(f"create database {name} {options}")
        yield name
        self._await_leaving(name)
        self._admin.execute(f"drop database {name} with (force)")

    def _await_leaving(self, name: str) -> None:
        # Postgres waits a tenth of a second for a session that has not quite ended; most need a thousandth.
        for _ in range(LOOKS):
            if not self._admin.execute(f"select from pg_stat_activity where datname = '{name}'"):
                return
            time.sleep(0.001)


class WatchedDatabase(Database):
    """Remembers its statements and can fail at one of them, before or after it was done."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.statements: list[str] = []
        self._fault: tuple[int, bool, BaseException] | None = None

    def fail_at(self, number: int, error: BaseException, *, done: bool) -> None:
        """Fail once, at the statement of this number, counted from here."""
        self._fault = len(self.statements) + number, done, error

    def execute(self, sql: str) -> Rows:
        return self._watched(sql, lambda: super(WatchedDatabase, self).execute(sql))

    def run(self, name: str, parameters: Mapping[str, Parameter]) -> Rows:
        return self._watched(name, lambda: super(WatchedDatabase, self).run(name, parameters))

    def _watched(self, name: str, run: Callable[[], Rows]) -> Rows:
        self.statements.append(name)
        if self._fault is None or self._fault[0] != len(self.statements):
            return run()
        _, done, error = self._fault
        self._fault = None
        with self._translated():
            if done:
                run()
            raise error
