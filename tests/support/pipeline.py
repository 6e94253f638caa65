"""The whole way of an event: the real receive and process functions, with a queue in memory between them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from local.testing.events import gateway_event, sqs_event
from local.testing.fakes import FakeSecretsManager
from local.testing.handlers import Context, load_handler
from mailfold import aws
from samples import sampler
from tests.support.fakes import FakeSqs
from tests.support.records import SOURCES, TOPICS


class Pipeline:
    """receive → queue → process → Postgres, each function under its own role."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, process_url: str, prune_url: str) -> None:
        self.keys = {name: sampler(source.provider).make_keys() for name, source in SOURCES.items() if name != "ses"}
        self.sqs = FakeSqs()
        self._taken = 0
        secrets = FakeSecretsManager({name: [keys.secret] for name, keys in self.keys.items()})
        clients = {"sqs": self.sqs, "secretsmanager": secrets}
        monkeypatch.setattr(aws, "client", lambda service, access: clients[service])
        sources = json.dumps({name: {"provider": source.provider} for name, source in SOURCES.items()})
        receive = {
            "SOURCES": sources,
            "SECRET_ID": "s",
            "QUEUE_URL": "q",
            "CLAIM_TABLE": "t",
            "MAX_BODY_BYTES": "999999",
        }
        process = {"SOURCES": sources, "TOPICS": json.dumps(TOPICS), "DATABASE_URL": process_url, "PUBLISH": "true"}
        self._receive = load_handler("receive", monkeypatch, receive)
        self.process = load_handler("process", monkeypatch, process)
        self._prune = load_handler("prune", monkeypatch, {"DATABASE_URL": prune_url, "RETENTION": "{}"})

    def close(self) -> None:
        """Let go of the connections."""
        self.process.database.close()
        self._prune.database.close()

    def post(self, source: str, events: Any, *, at: datetime | None = None, tampered: bool = False) -> int:
        """Send a signed request; return the status."""
        sending = sampler(SOURCES[source].provider)
        body = sending.body(events)
        headers = sending.sign(body, self.keys[source], at or datetime.now(UTC))
        if tampered:
            body = body.replace(b"a", b"b", 1)
        answer = self._receive.handler(gateway_event(source, body, headers), Context())
        return int(answer["statusCode"])

    def waiting(self) -> list[str]:
        """Take the bodies that process has not been given yet."""
        bodies = self.sqs.bodies[self._taken :]
        self._taken = len(self.sqs.bodies)
        return bodies

    def deliver(
        self, bodies: Sequence[str] | None = None, *, receive_count: int = 1, remaining_ms: int = 60_000
    ) -> int:
        """Hand records to process; return how many it reports as failed."""
        event = sqs_event(self.waiting() if bodies is None else bodies, receive_count=receive_count)
        return len(self.process.handler(event, Context(remaining_ms))["batchItemFailures"])

    def prune(self) -> dict[str, Any]:
        """Run the daily prune."""
        return dict(self._prune.handler({}, Context(900_000)))
