"""A real Postgres for the tests that need one."""

from collections.abc import Iterator
from itertools import count

import pg8000.native
import pytest

from local.postgres import PostgresServer

NUMBERS = count(1)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """One server for the whole run; small, but as durable as the real one."""
    settings = {"shared_buffers": "32MB", "max_connections": "60"}
    with PostgresServer(tmp_path_factory.mktemp("server") / "postgres", settings=settings) as server:
        yield server


@pytest.fixture
def empty_database(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database that nobody else uses."""
    name = f"test_{next(NUMBERS)}"
    admin = pg8000.native.Connection("postgres", host="127.0.0.1", port=postgres_server.port, database="postgres")
    try:
        admin.run(f"create database {name}")
        yield postgres_server.url(name)
        admin.run(f"drop database {name} with (force)")
    finally:
        admin.close()
