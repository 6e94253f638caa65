"""One provider's door with everything behind it in memory."""

import base64
import json
from collections import deque
from datetime import datetime
from typing import Any

from local.testing.fakes import FakeFetcher, FakeSecretsManager, FreshKeyed
from mailfold.providers import forms_of
from mailfold.queue import Queue
from mailfold.request import Request, Source
from mailfold.secrets import Secrets
from mailfold.steps import receive as step
from mailfold.steps.receive import ReceiveContext, Response
from mailfold.telemetry import Telemetry
from samples import Keys, Raw, Sampler, sampler, signed
from tests.support.endpoint import NOW
from tests.support.fakes import FakeSqs, refuse_all


class FullableSqs(FakeSqs):
    """A queue in memory that can be full."""

    full = False

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self._faults = deque([refuse_all] if self.full else [])
        return super().send_message_batch(QueueUrl=QueueUrl, Entries=Entries)

    def events(self) -> list[Raw]:
        return [event for body in self.bodies for event in json.loads(body)["events"]]


class Desk:
    """One provider's door with everything behind it in memory."""

    def __init__(self, name: str, *secrets: str) -> None:
        self.sampler: Sampler = sampler(name)
        self.keys: Keys = self.sampler.make_keys()
        self.source = Source(name=name, provider=name, options=self.sampler.OPTIONS)
        self.sqs = FullableSqs()
        self.manager = FakeSecretsManager({name: list(secrets) or [self.keys.secret]})
        pem = getattr(self.sampler, "certificate", lambda _: "")(self.keys)
        self.door = ReceiveContext(
            sources={name: self.source},
            secrets=Secrets(self.manager, "secret", forms=forms_of({name: self.source})),
            queue=Queue(client=self.sqs, url="queue"),
            keyed=FreshKeyed(),  # type: ignore[arg-type]
            fetcher=FakeFetcher(pem),  # type: ignore[arg-type]
            max_body_bytes=4_000_000,
            telemetry=Telemetry("receive"),
        )

    def body(self) -> bytes:
        samples = list(self.sampler.SAMPLES.values())[: self.sampler.BATCH]
        return self.sampler.body(samples)

    def signed(self, body: bytes | None = None, at: datetime = NOW) -> tuple[bytes, dict[str, str]]:
        sealed, headers = signed(self.sampler, self.body() if body is None else body, self.keys, at)
        # Postal signs twice, and the older signature may stand in for the newer: leave one to tamper with.
        headers.pop("X-Postal-Signature", None)
        return sealed, headers

    def post(self, body: bytes, headers: dict[str, str], *, base64_body: bool = False) -> Response:
        event = {
            "requestContext": {"http": {"method": "POST"}},
            "pathParameters": {"source": self.source.name},
            "headers": headers,
            "isBase64Encoded": base64_body,
            "body": base64.b64encode(body).decode() if base64_body else body.decode(),
        }
        return step.receive(Request.from_api_gateway(event, received_at=NOW), self.door)
