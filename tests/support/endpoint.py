"""One provider's door with everything behind it in memory, and what an event means in a few words."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from local.testing.fakes import FakeFetcher, FakeSecretsManager, FreshKeyed
from mailfold.events import Event
from mailfold.providers import REGISTRY, forms_of
from mailfold.providers.base import Origin
from mailfold.queue import Queue
from mailfold.request import Request, Source
from mailfold.secrets import Secrets
from mailfold.steps.receive import ReceiveContext, Response, receive
from mailfold.telemetry import Telemetry
from samples import Keys, Raw, sampler, signed
from tests.support.fakes import FakeSqs
from tests.support.origins import parse

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


class Endpoint:
    """The source `main` of a provider, and the provider's own side of it."""

    def __init__(
        self,
        provider: str,
        *,
        keys: Keys | None = None,
        secrets: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.sampler = sampler(provider)
        self.keys = keys or self.sampler.make_keys()
        self.sqs = FakeSqs()
        self.fetcher = FakeFetcher(getattr(self.sampler, "certificate", lambda keys: "")(self.keys))
        settings = self.sampler.OPTIONS if options is None else options
        self.source = Source(name="main", provider=provider, options=settings)
        self._door = ReceiveContext(
            sources={"main": self.source},
            secrets=Secrets(
                FakeSecretsManager({"main": list(secrets) or [self.keys.secret]}),
                "secret",
                forms=forms_of({"main": self.source}),
            ),
            queue=Queue(client=self.sqs, url="queue"),
            keyed=FreshKeyed(),  # type: ignore[arg-type]
            fetcher=self.fetcher,  # type: ignore[arg-type]
            max_body_bytes=4_000_000,
            telemetry=Telemetry("receive"),
        )

    def sign(self, body: bytes, *, at: datetime = NOW) -> tuple[bytes, dict[str, str]]:
        """Return a request as the provider would send it."""
        return signed(self.sampler, body, self.keys, at)

    def post(
        self, body: bytes, headers: Mapping[str, str], *, method: str = "POST", received_at: datetime = NOW
    ) -> Response:
        """Hand a request in."""
        lowered = {name.lower(): value for name, value in headers.items()}
        request = Request(source_name="main", method=method, headers=lowered, body=body, received_at=received_at)
        return receive(request, self._door)

    def post_signed(self, body: bytes, *, at: datetime = NOW, received_at: datetime = NOW) -> Response:
        """Hand a genuine request in."""
        return self.post(*self.sign(body, at=at), received_at=received_at)

    def post_samples(self, *names: str) -> Response:
        """Hand these samples in, in one genuine request."""
        return self.post_signed(self.sampler.body([dict(self.sampler.SAMPLES[name]) for name in names]))

    @property
    def envelopes(self) -> list[dict[str, Any]]:
        """What stands on the queue."""
        return [json.loads(body) for body in self.sqs.bodies]

    @property
    def queued(self) -> list[Raw]:
        """The raw events on the queue."""
        return [event for envelope in self.envelopes for event in envelope["events"]]

    def read(self, raw: Raw) -> Event:
        """Read a raw event of one recipient as it came with the newest envelope."""
        origin = Origin(source=self.source, received_at=NOW, headers=self.envelopes[-1]["headers"])
        (event,) = REGISTRY[self.source.provider].parse(raw, origin)
        return event


def meaning(event: Event) -> str:
    """Say what an event means: `bounced/hard suppress`, `unsubscribed suppress in list:7`, `opened by a machine`, …"""
    words = [f"{event.type}/{event.bounce_class}" if event.bounce_class else str(event.type)]
    words += [str(event.effect)] if event.effect else []
    words += [f"in {event.scope}"] if event.scope else []
    words += ["by a machine"] if event.machine else []
    words += ["for the message"] if event.message_fault else []
    return " ".join(words)


def read(provider: str, raw: Raw, *, headers: Mapping[str, str] | None = None) -> Event:
    """Read a raw event of one recipient."""
    (event,) = parse(provider, raw, headers=headers)
    return event
