"""A migrated database per test, and the ways to look into it."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from local.postgres import PostgresServer
from mailfold.store.connection import Database
from mailfold.store.migrate import apply_migrations

NUMBERS = count(1)


@pytest.fixture(scope="session")
def template_database(postgres_server: PostgresServer) -> str:
    """The name of a migrated database that others are copied from."""
    admin = Database(postgres_server.url())
    admin.execute("create database migrated")
    migrated = Database(postgres_server.url("migrated"))
    apply_migrations(migrated)
    migrated.close()
    admin.close()
    return "migrated"


class Store:
    """One test's database: its address per role, and its tables as the owner sees them."""

    def __init__(self, server: PostgresServer, name: str) -> None:
        self._server = server
        self.name = name
        self.owner = Database(server.url(name))

    def url(self, role: str) -> str:
        """Return the address for one role."""
        return self._server.url(self.name, role)

    def rows(self, sql: str) -> list[list[Any]]:
        """Run one query as the owner."""
        return self.owner.execute(sql)

    def value(self, sql: str) -> Any:
        """Run one query that yields one value."""
        [[value]] = self.rows(sql)
        return value


@pytest.fixture
def store(postgres_server: PostgresServer, template_database: str) -> Iterator[Store]:
    """A fresh, migrated database."""
    admin = Database(postgres_server.url())
    name = f"store_{next(NUMBERS)}"
    admin.execute(f"create database {name} template {template_database}")
    store = Store(postgres_server, name)
    yield store
    store.owner.close()
    admin.execute(f"drop database {name} with (force)")
    admin.close()
