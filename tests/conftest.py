"""A real Postgres for the tests that need one."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.postgres import PostgresServer
from tests.support.databases import Databases

#: Small. Tests kill servers but never the machine, so nothing need reach the disk: a kill loses no write.
SETTINGS = {"shared_buffers": "32MB", "max_connections": "60", "max_wal_size": "128MB", "fsync": "off"}
#: Files in memory, and how much of it must be free: a container may have as little as 64 MB.
MEMORY = Path("/dev/shm")
ROOM_BYTES = 1_000_000_000


@pytest.fixture(scope="session")
def server_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """In memory where there is room: a database for each test is hundreds of files, and disks are slow to make them."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ROOM_BYTES:
        yield tmp_path_factory.mktemp("server")
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="mailfold-tests-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres_server(server_folder: Path) -> Iterator[PostgresServer]:
    """One server for the whole run."""
    with PostgresServer(server_folder / "postgres", settings=SETTINGS) as server:
        yield server


@pytest.fixture(scope="session")
def databases(postgres_server: PostgresServer) -> Iterator[Databases]:
    """A maker of databases on that server."""
    databases = Databases(postgres_server)
    yield databases
    databases.close()


@pytest.fixture
def empty_database(postgres_server: PostgresServer, databases: Databases) -> Iterator[str]:
    """The address of a database that only this test uses."""
    with databases.empty() as name:
        yield postgres_server.url(name)
