"""A pipeline over a database of its own, kept for the whole run."""

from collections.abc import Iterator

import pytest

from local.postgres import PostgresServer
from mailfold.store.connection import Database
from mailfold.store.migrate import apply_migrations
from tests.property.pipeline import Pipeline


@pytest.fixture(scope="session")
def pipeline(postgres_server: PostgresServer) -> Iterator[Pipeline]:
    """The real step on a real Postgres; commits need not reach the disk, because nobody pulls the plug here."""
    admin = Database(postgres_server.url())
    admin.execute("create database property")
    migrated = Database(postgres_server.url("property"))
    apply_migrations(migrated)
    migrated.execute("alter role mailfold_process in database property set synchronous_commit = off")
    migrated.close()
    pipeline = Pipeline(postgres_server.url("property", "mailfold_process"), postgres_server.url("property"))
    yield pipeline
    pipeline.close()
    admin.execute("drop database property with (force)")
    admin.close()
