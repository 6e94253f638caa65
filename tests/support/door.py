"""The real receive function behind a pretended API Gateway, with moto's queue and secret."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import count
from types import ModuleType
from typing import Any

import boto3
import pytest
from botocore.config import Config

from local.testing.events import gateway_event
from local.testing.handlers import Context, load_handler
from samples import Keys, sampler
from tests.support.signed import SignedServer

#: Two sources that sign in different ways, and what each is of.
SOURCES = {"sendgrid": "sendgrid", "shop": "sesmetric"}
SECRET_ID = "mailfold/sources"
MAX_BODY_BYTES = 1_500_000
NUMBERS = count(1)


@cache
def _client(service: str) -> Any:
    # The addresses that the function is given lead to this client: it must not follow them itself.
    return boto3.client(service, config=Config(ignore_configured_endpoint_urls=True))


@cache
def _aws() -> SignedServer:
    return SignedServer(_client)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the provider would see."""

    status: int
    body: Mapping[str, Any]


class Door:
    """One cold start of receive; moto must be in effect."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
        self._monkeypatch = monkeypatch
        self.keys = {source: sampler(provider).make_keys() for source, provider in SOURCES.items()}
        self._sqs = _client("sqs")
        self._secrets = _client("secretsmanager")
        self.queue_url = self._sqs.create_queue(QueueName=f"mailfold-{next(NUMBERS)}")["QueueUrl"]
        self.set_secret(json.dumps({source: [keys.secret] for source, keys in self.keys.items()}))
        self.handler = self._start(environment)

    def _start(self, environment: Mapping[str, str]) -> ModuleType:
        sources = {source: {"provider": provider} for source, provider in SOURCES.items()}
        settings = {
            "SOURCES": json.dumps(sources),
            "SECRET_ID": SECRET_ID,
            "QUEUE_URL": self.queue_url,
            "CLAIM_TABLE": "claims",
            "MAX_BODY_BYTES": str(MAX_BODY_BYTES),
            "AWS_ENDPOINT_URL_SQS": _aws().url,
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": _aws().url,
        }
        return load_handler("receive", self._monkeypatch, settings | dict(environment))

    def set_secret(self, text: str | None) -> None:
        """Put a secret in place, or leave none."""
        with contextlib.suppress(self._secrets.exceptions.ResourceNotFoundException):
            self._secrets.delete_secret(SecretId=SECRET_ID, ForceDeleteWithoutRecovery=True)
        if text is not None:
            self._secrets.create_secret(Name=SECRET_ID, SecretString=text)

    def lose_queue(self) -> None:
        """Delete the queue under the function's feet."""
        self._sqs.delete_queue(QueueUrl=self.queue_url)

    def sign(self, source: str, body: bytes, *, at: datetime | None = None, keys: Keys | None = None) -> dict[str, str]:
        """Return the headers that the source's provider would send."""
        return sampler(SOURCES[source]).sign(body, keys or self.keys[source], at or datetime.now(UTC))

    def body(self, source: str, *names: str) -> bytes:
        """Return a body with these samples."""
        sending = sampler(SOURCES[source])
        return sending.body([dict(sending.SAMPLES[name]) for name in names])

    def post(
        self, source: str, body: bytes, headers: Mapping[str, str], *, encoding: str = "base64", method: str = "POST"
    ) -> Reply:
        """Call the function."""
        event = gateway_event(source, body, headers, encoding=encoding, method=method)
        answer = self.handler.handler(event, Context())
        assert set(answer) == {"statusCode", "headers", "body"}
        return Reply(status=answer["statusCode"], body=json.loads(answer["body"]))

    def post_signed(self, source: str, body: bytes, *, encoding: str = "base64") -> Reply:
        """Call the function with a genuine request."""
        return self.post(source, body, self.sign(source, body), encoding=encoding)

    def queued(self) -> list[dict[str, Any]]:
        """Take every envelope off the queue."""
        taken: list[dict[str, Any]] = []
        while records := self._sqs.receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10).get("Messages"):
            taken += [json.loads(record["Body"]) for record in records]
        return taken
