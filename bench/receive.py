"""receive: the whole handler, from API Gateway's event to its answer, against the bare cost of the same bytes."""

import contextlib
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from statistics import median
from time import process_time
from typing import Any

import pytest

from bench import bare
from bench.figures import Section
from bench.lab import Lab
from bench.measure import Way, in_turns, ratios, timed
from bench.progress import Ticker
from bench.traffic import Traffic
from local.testing.fakes import FakeFetcher, FakeSecretsManager, FreshKeyed
from local.testing.handlers import COMMON
from mailfold.providers import forms_of
from mailfold.queue import Queue
from mailfold.request import Request, Source
from mailfold.secrets import Secrets
from mailfold.steps.receive import ReceiveContext, receive
from mailfold.telemetry import Telemetry
from samples import Keys, Raw, Sampler, sampler, signed, standardwebhooks

ROUNDS = 9
MANY = 1_000
#: How long a round of the faster way lasts at least: long against the clock and against a switch of tasks.
ROUND_S = 0.025
WORST_SENDGRID = 2.5


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One way to prove a sender, by a provider that uses it."""

    scheme: str
    provider: str
    bare: Callable[[str], bare.Bare]
    #: Whether a request of this provider may carry many events.
    batches: bool = False
    make_keys: Callable[[], Keys] | None = None


KINDS = (
    Kind(scheme="ECDSA P-256", provider="sendgrid", bare=bare.ecdsa, batches=True),
    Kind(scheme="HMAC-SHA1 over a form", provider="mandrill", bare=bare.hmac_sha1_form, batches=True),
    Kind(scheme="MD5", provider="unisender", bare=bare.md5, batches=True),
    Kind(scheme="credential", provider="sparkpost", bare=bare.credential, batches=True),
    Kind(scheme="credential", provider="postmark", bare=bare.credential),
    Kind(scheme="HMAC-SHA256", provider="sesmetric", bare=bare.hmac_sha256),
    Kind(scheme="RSA-2048", provider="postal", bare=bare.rsa_sha256),
    Kind(scheme="HMAC-SHA256 with a key", provider="standardwebhooks", bare=bare.standard_hmac),
    Kind(
        scheme="Ed25519 with a key",
        provider="standardwebhooks",
        bare=bare.standard_ed25519,
        make_keys=standardwebhooks.make_key_pair,
    ),
)


def measure(lab: Lab, ticker: Ticker) -> Section:
    """Measure receive; the queue, the secret and the table of keys are in memory, so the time is all its own."""
    section = Section(name="receive")
    with _quiet():
        for kind in KINDS:
            for events in (1, MANY) if kind.batches else (1,):
                ticker.tick(f"{kind.provider}, {events} events")
                _measure_kind(kind, events, section, ticker)
    section.notes.append(
        "The bare cost is verify, json.loads and json.dumps of the same bytes manually, with the key already parsed. "
        "The handler also names the claim, cuts the events into records, hashes them and writes its metrics. "
        "The queue is in memory: what a client of SQS spends on its own request is in neither."
    )
    return section


def _measure_kind(kind: Kind, events: int, section: Section, ticker: Ticker) -> None:
    desk = _Desk(kind)
    request = desk.request(events)
    baseline = kind.bare(desk.keys.secret)
    cpu_s: list[float] = []
    repetitions = _repetitions(lambda: baseline(request))
    ways: dict[str, Way] = {
        "bare": lambda: lambda: _repeat(baseline, request, repetitions),
        "ours": lambda: lambda: cpu_s.append(_repeat(desk.handle, request, repetitions)),
    }
    seconds = in_turns(ways, rounds=ROUNDS, ticker=ticker)
    _report(kind, events, section, over=ratios(seconds["ours"], seconds["bare"]), cpu_s=cpu_s[1:])


def _repeat(work: Callable[[Mapping[str, Any]], object], request: Mapping[str, Any], repetitions: int) -> float:
    """Return the processor time of one repetition."""
    began_at = process_time()
    for _ in range(repetitions):
        work(request)
    return (process_time() - began_at) / repetitions


def _repetitions(work: Callable[[], object]) -> int:
    return max(1, math.ceil(ROUND_S / median(timed(work) for _ in range(5))))


def _report(kind: Kind, events: int, section: Section, *, over: list[float], cpu_s: list[float]) -> None:
    if kind.provider == "sendgrid" and events == MANY:
        name = "receive, 1,000-event SendGrid request, over its bare cost"
        section.add(name, over, must=("<=", WORST_SENDGRID))
    else:
        section.add(f"receive, {_what(kind, events)}, over its bare cost", over)
    one_core = f"on one core, {_what(kind, events)}"
    section.add(f"receive, requests {one_core}", [1 / each for each in cpu_s], unit="/s")
    if events > 1:
        section.add(f"receive, events {one_core}", [events / each for each in cpu_s], unit="/s")


def _what(kind: Kind, events: int) -> str:
    return f"{events:,} event{'s' if events > 1 else ''} of {kind.provider} by {kind.scheme}"


class _Desk:
    """One provider's source at the door, as functions/receive puts it together."""

    def __init__(self, kind: Kind) -> None:
        self._name = kind.provider
        self._sampler: Sampler = sampler(kind.provider)
        self.keys = (kind.make_keys or self._sampler.make_keys)()
        sources = {self._name: Source(name=self._name, provider=self._name, options=self._sampler.OPTIONS)}
        self._door = ReceiveContext(
            sources=sources,
            secrets=Secrets(FakeSecretsManager({self._name: [self.keys.secret]}), "secret", forms=forms_of(sources)),
            queue=Queue(client=_ReadyQueue(), url="queue"),
            keyed=FreshKeyed(),  # type: ignore[arg-type]  # stands in for the table of keys
            fetcher=FakeFetcher(),  # type: ignore[arg-type]  # none of these providers has anything fetched
            max_body_bytes=4_000_000,
            telemetry=Telemetry("receive"),
        )

    def request(self, events: int) -> dict[str, Any]:
        """Return a genuine request as API Gateway hands it over."""
        now = datetime.now(UTC)
        body, headers = signed(self._sampler, self._sampler.body(self._events(events, now)), self.keys, now)
        return {
            "requestContext": {"http": {"method": "POST"}},
            "pathParameters": {"source": self._name},
            "headers": {name.lower(): value for name, value in headers.items()},
            "isBase64Encoded": False,
            "body": body.decode(),
        }

    def handle(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Do what the handler does, and insist that the request is accepted."""
        answer = receive(Request.from_api_gateway(event), self._door)
        self._door.telemetry.flush()
        if answer.status != 200:
            raise RuntimeError(f"receive answered {answer.status}")
        headers = {"content-type": "application/json"}
        return {"statusCode": answer.status, "headers": headers, "body": json.dumps(answer.body)}

    def _events(self, number: int, now: datetime) -> list[Raw]:
        if self._name == "sendgrid":
            return Traffic().events(number)
        rng = Random(number)
        return [self._sampler.generate(rng, f"bench{index:06}", now) for index in range(number)]


class _ReadyQueue:
    """Takes every record and keeps none."""

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}


class _Nowhere(io.TextIOBase):
    """Where the metrics go."""

    def write(self, text: str) -> int:
        return len(text)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(_Nowhere()):
        for name, value in COMMON.items():
            patch.setenv(name, value)
        yield
