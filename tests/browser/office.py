"""One database with the real process and query functions on it, and the console in front."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from local.postgres import PostgresServer
from local.testing.events import sqs_event
from local.testing.handlers import Context, load_handler
from local.testing.proofs import verified_request
from mailfold.envelope import seal
from mailfold.request import Source
from mailfold.store.connection import Database
from tests.support.http_door import served
from tests.support.reader import Reader

#: Below this the emulator serves the API; what works here works below any prefix.
PREFIX = "/_aws/execute-api/mailfold"
SOURCES = {
    "sendgrid": "sendgrid",
    "postmark": "postmark",
    "newsletter": "sendgrid",
    "main": "sesmetric",
    "mailgun": "mailgun",
    "ses": "ses",
}


class OperateContext:
    """What a browser test works with."""

    def __init__(self, server: PostgresServer, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._server, self._name = server, name
        self.owner = Database(server.url(name))
        sources = json.dumps({name: {"provider": provider} for name, provider in SOURCES.items()})
        common = {"SOURCES": sources, "TOPICS": "{}", "PUBLISH": "true", "SOFT_LIMIT": "5", "RETENTION": "{}"}
        self._process = self._load("process", monkeypatch, common)
        self._query = self._load("query", monkeypatch, common)
        self._sweep = self._load("sweep", monkeypatch, common)
        self._query.query_context.request_rate.burst = self._query.query_context.wrong_token_rate.burst = 1_000_000
        self.reader = Reader(module=self._query, owner=self.owner)
        self.reader.token = self.reader.make_token("ann", "raw", "operate")
        self._serving = served(self._query.handler, prefix=PREFIX)
        self.url = self._serving.__enter__()
        self.origin = self.url.removesuffix(PREFIX)

    def _load(self, step: str, monkeypatch: pytest.MonkeyPatch, common: dict[str, str]) -> Any:
        return load_handler(
            step, monkeypatch, {**common, "DATABASE_URL": self._server.url(self._name, f"mailfold_{step}")}
        )

    def console(self, token: str | None = None) -> str:
        """Return the address that brings a token along."""
        return f"{self.url}/console#token={self.reader.token if token is None else token}"

    def receive(
        self, source: str, events: Sequence[Any], *, at: datetime | None = None, key: str | None = None
    ) -> None:
        """Fold the events of one request that was received at some time, 200 to an envelope; `key` is its claim."""
        named = Source(name=source, provider=SOURCES[source])
        body = json.dumps(events).encode()
        verified = verified_request(body, source=named, at=at or datetime.now(UTC))
        for one in seal(verified, events, headers={}, key=key):
            assert self._process.handler(sqs_event([one.text]), Context())["batchItemFailures"] == []

    def sweep(self) -> None:
        """Derive the soft stops."""
        self._sweep.handler({}, Context())

    def close(self) -> None:
        """Leave nothing behind."""
        self._serving.__exit__(None, None, None)
        for module in (self._process, self._query, self._sweep):
            module.database.close()
        self.owner.close()
