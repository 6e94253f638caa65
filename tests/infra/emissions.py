"""Run every step for real and note which metrics it prints, as CloudWatch would file them."""

import io
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest

from local.postgres import PostgresServer
from local.testing.events import gateway_event, question_event, sqs_event
from local.testing.fakes import FakeSecretsManager
from local.testing.handlers import Context, load_handler
from mailfold import aws
from mailfold.steps.publish import PublishContext, publish
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry
from samples import Keys, sampler
from tests.infra.template import Synthesised, rendered
from tests.support.blobs import Printed, metrics
from tests.support.fakes import FakeSqs

DATABASE = "emissions"


class TakingBus:
    """A bus that takes whatever it is given."""

    def put(self, events: list[Any]) -> list[None]:
        return [None for _ in events]


class Rehearsal:
    """Every function of the stack in the environment that the template gives it, but for AWS and the database."""

    def __init__(self, stack: Synthesised, server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stack = stack
        self._server = server
        self._monkeypatch = monkeypatch
        self._sqs = FakeSqs()
        sources = json.loads(stack.environment("receive")["SOURCES"])
        self._providers: dict[str, str] = {name: source["provider"] for name, source in sources.items()}
        self._keys = {name: sampler(it).make_keys() for name, it in self._providers.items() if it != "ses"}
        self._secrets = FakeSecretsManager({name: [keys.secret] for name, keys in self._keys.items()})
        clients = {"sqs": self._sqs, "secretsmanager": self._secrets}
        monkeypatch.setattr(aws, "client", lambda service, access: clients[service])

    def run(self) -> None:
        """Let each step do whatever it has a metric for."""
        with self._started("migrate", "postgres") as migrate:
            migrate.handler({}, Context())
        self._receive()
        with self._started("process", "mailfold_process") as process:
            process.handler(sqs_event([*self._sqs.bodies, self._notification()]), Context())
        for step in ("prune", "sweep", "watch"):
            with self._started(step, f"mailfold_{step}") as function:
                function.handler({}, Context(900_000))
        with self._started("operate", "mailfold_operate") as operate:
            for command in ("totals", "nonsense"):
                operate.handler({"command": command, "arguments": {"days": 1}}, Context())
        with self._started("query", "mailfold_query") as query:
            for path in ("/healthz", "/v1/totals"):
                query.handler(question_event("GET", path, "", {}, b""), Context())
            # Without a database nobody can be told anything.
            self._gone(query)
        self._publish()

    def _gone(self, query: ModuleType) -> None:
        query.database.close()
        query.database._address = replace(query.database._address, port=1)
        # What it found a moment ago is not to answer for this.
        query.query_context.health.kept_s = 0
        query.handler(question_event("GET", "/healthz", "", {}, b""), Context())

    @contextmanager
    def _started(self, step: str, role: str) -> Iterator[ModuleType]:
        environment = {name: rendered(value) for name, value in self._stack.environment(step).items()}
        url = self._server.url(DATABASE, role)
        function = load_handler(step, self._monkeypatch, environment | {"DATABASE_URL": url})
        yield function
        function.database.close()

    def _receive(self) -> None:
        environment = {name: rendered(value) for name, value in self._stack.environment("receive").items()}
        receive = load_handler("receive", self._monkeypatch, environment)
        stranger = {name: sampler(self._providers[name]).make_keys() for name in self._keys}
        for source, keys in self._keys.items():
            for signed_by in (keys, stranger[source]):
                receive.handler(self._request(source, signed_by), Context())
        self._secrets.secret = {}
        receive = load_handler("receive", self._monkeypatch, environment)
        for source, keys in self._keys.items():
            receive.handler(self._request(source, keys), Context())

    def _request(self, source: str, keys: Keys) -> dict[str, Any]:
        sending = sampler(self._providers[source])
        body = sending.body([dict(next(iter(sending.SAMPLES.values())))])
        return gateway_event(source, body, sending.sign(body, keys, datetime.now(UTC)))

    def _notification(self) -> str:
        (topic,) = json.loads(rendered(self._stack.environment("process")["TOPICS"]))
        sample = next(iter(sampler("ses").SAMPLES.values()))
        return json.dumps(
            {"Type": "Notification", "MessageId": "1", "TopicArn": topic, "Message": json.dumps(dict(sample))}
        )

    def _publish(self) -> None:
        telemetry = Telemetry("publish")
        with closing(Database(self._server.url(DATABASE, "mailfold_publish"))) as database:
            bus: Any = TakingBus()
            publish(PublishContext(database=database, bus=bus, remaining_ms=lambda: 300_000, telemetry=telemetry))
        telemetry.flush()


def emissions(stack: Synthesised, server: PostgresServer) -> frozenset[Printed]:
    """Return every metric that the code really prints, with its dimensions."""
    with closing(Database(server.url())) as admin:
        admin.execute(f"create database {DATABASE}")
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as monkeypatch, redirect_stdout(output):
        Rehearsal(stack, server, monkeypatch).run()
    return frozenset(metrics(output.getvalue()))
