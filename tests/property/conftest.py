"""A pipeline over a database of its own, kept for the whole run."""

from collections.abc import Iterator

import pytest

from local.postgres import PostgresServer
from tests.property.pipeline import Pipeline
from tests.support.databases import Databases


@pytest.fixture(scope="session")
def pipeline(postgres_server: PostgresServer, databases: Databases) -> Iterator[Pipeline]:
    """The real step on a real Postgres."""
    with databases.migrated() as name:
        pipeline = Pipeline(postgres_server.url(name, "mailfold_process"), postgres_server.url(name))
        yield pipeline
        pipeline.close()
