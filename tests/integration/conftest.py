"""A migrated database per test, and the ways to look into it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local.postgres import PostgresServer
from local.testing.handlers import Context, load_handler
from mailfold.queue import Record
from mailfold.steps.process import Outcome, ProcessContext, process
from mailfold.store.connection import Database
from mailfold.store.queries import query
from mailfold.telemetry import Telemetry
from tests.support.databases import Databases, WatchedDatabase
from tests.support.pipeline import Pipeline
from tests.support.press import PublishHarness
from tests.support.reader import Reader, make_reader
from tests.support.records import SOURCES, TOPICS


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
def store(postgres_server: PostgresServer, databases: Databases) -> Iterator[Store]:
    """A fresh, migrated database."""
    with databases.migrated() as name:
        store = Store(postgres_server, name)
        # A copy of a database does not copy what may be done in it.
        store.rows(query("public_rights"))
        yield store
        store.owner.close()


@pytest.fixture
def pipeline(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipeline]:
    """The real functions on this test's database."""
    pipeline = Pipeline(monkeypatch, process_url=store.url("mailfold_process"), prune_url=store.url("mailfold_prune"))
    yield pipeline
    pipeline.close()


class Workshop:
    """process without its handler: on a database that can be watched, with whatever time and rules a test wants."""

    def __init__(self, url: str) -> None:
        self.database = WatchedDatabase(url)
        #: How much time is left whenever somebody asks.
        self.remaining_ms: Callable[[], int] = lambda: 60_000

    def process(self, *records: Record, publish: bool = True) -> Outcome:
        """Fold a batch."""
        context = ProcessContext(
            database=self.database,
            sources=SOURCES,
            topics=TOPICS,
            publish=publish,
            remaining_ms=self.remaining_ms,
            telemetry=Telemetry("process"),
        )
        return process(records, context)


@pytest.fixture
def make_workshop(store: Store) -> Iterator[Callable[[], Workshop]]:
    """As many places to process records manually as a test wants, each with a connection in the role of process."""
    made: list[Workshop] = []

    def make() -> Workshop:
        made.append(Workshop(store.url("mailfold_process")))
        return made[-1]

    yield make
    for workshop in made:
        workshop.database.close()


@pytest.fixture
def workshop(make_workshop: Callable[[], Workshop]) -> Workshop:
    """A place to process records manually."""
    return make_workshop()


@pytest.fixture
def order(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, Any]]]:
    """Give an order to the real operate function and insist that it is carried out; `by` is whoever gives it."""
    environment = {
        "SOURCES": json.dumps({name: {"provider": source.provider} for name, source in SOURCES.items()}),
        "TOPICS": json.dumps(TOPICS),
        "DATABASE_URL": store.url("mailfold_operate"),
        "PUBLISH": "true",
        "SOFT_LIMIT": "5",
        "RETENTION": "{}",
    }
    operate = load_handler("operate", monkeypatch, environment)

    def give(command: str, *, by: str = "ann", declined: bool = False, **arguments: Any) -> dict[str, Any]:
        answer = operate.handler({"command": command, "arguments": arguments, "by": by}, Context())
        assert answer["ok"] is not declined, answer
        return dict(answer) if declined else dict(answer["result"])

    yield give
    operate.database.close()


@pytest.fixture
def make_press_room(store: Store) -> Iterator[Callable[[], PublishHarness]]:
    """As many places to publish from as a test wants, each with a connection in the role of publish."""
    made: list[PublishHarness] = []

    def make() -> PublishHarness:
        made.append(PublishHarness(store.url("mailfold_publish")))
        return made[-1]

    yield make
    for room in made:
        room.database.close()


@pytest.fixture
def room(make_press_room: Callable[[], PublishHarness]) -> PublishHarness:
    """A place to publish from."""
    return make_press_room()


@pytest.fixture
def reader(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """The real query function, with a token that may do everything."""
    reader = make_reader(monkeypatch, url=store.url("mailfold_query"), owner=store.owner)
    yield reader
    reader.close()
