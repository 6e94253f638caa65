"""Whatever the pipeline publishes is as docs/events says: every provider, every topic, every cause."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mailfold.events import Effect
from mailfold.providers import REGISTRY
from mailfold.steps.sweep import sweep
from mailfold.store import batch
from mailfold.store.connection import Database
from mailfold.store.suppressions import decide_manually
from mailfold.telemetry import Telemetry
from samples import sampler
from tests.support.origins import parse
from tests.support.press import PublishHarness
from tests.support.records import raw
from tests.support.schema import faults

EVENTS = Path(__file__).parents[2] / "docs" / "events"
NUMBERS = count(1)
START = datetime(2026, 1, 1, tzinfo=UTC)


class Writer:
    """Everything that announces changes, each with its own rights."""

    def __init__(self, store: Any) -> None:
        self._databases = {step: Database(store.url(f"mailfold_{step}")) for step in ("process", "sweep", "operate")}

    def close(self) -> None:
        for database in self._databases.values():
            database.close()

    def fold(self, provider: str, *raws: Any) -> None:
        events = []
        for one in raws:
            # Some read the id of an event from a header of its request.
            headers = dict.fromkeys(REGISTRY[provider].headers, f"id-{next(NUMBERS)}")
            events += parse(provider, one, headers=headers)
        with self._databases["process"].transaction() as tx:
            batch.fold(tx, events, publish=True)

    def sweep(self) -> None:
        sweep(self._databases["sweep"], Telemetry("sweep"), soft_limit=5, publish=True)

    def decide(self, effect: Effect, address: str, at: datetime, reason: str = "asked") -> None:
        with self._databases["operate"].transaction() as tx:
            decide_manually(tx, address, effect, decided_at=at, decided_by="ann", reason=reason, publish=True)


@pytest.fixture
def writer(store: Any) -> Iterator[Writer]:
    writer = Writer(store)
    yield writer
    writer.close()


def at(minute: int) -> str:
    return (START + timedelta(minutes=minute)).isoformat()


def soft_bounces(writer: Writer, address: str) -> None:
    bounces = [
        raw(f"{address}{n}", "bounce", at(n), message_id=f"{address}{n}", recipient=address, bounce_type="Transient")
        for n in range(5)
    ]
    writer.fold("sesmetric", *bounces)
    writer.sweep()


def all_causes(writer: Writer) -> None:
    """Stop and lift addresses for every reason there is."""
    for provider in REGISTRY:
        rng = Random(provider)
        writer.fold(provider, *[sampler(provider).generate(rng, f"{provider}-{n}", START) for n in range(60)])
    long = "no such mailbox \u00e9\U0001f600" * 500
    gone = {"recipient": "gone@example.com", "bounce_type": "Permanent", "reason": long, "diagnostic_code": long}
    writer.fold("sesmetric", raw("gone", "bounce", at(1), message_id="gone", **gone))
    writer.fold("sesmetric", raw("back", "resubscribe", at(9), message_id="gone", recipient="gone@example.com"))
    soft_bounces(writer, "soft@example.com")
    writer.fold("sesmetric", raw("late", at=at(3), message_id="late", recipient="soft@example.com"))
    writer.sweep()
    writer.decide(Effect.SUPPRESS, "hand@example.com", START, "x" * 5_000)
    writer.decide(Effect.LIFT, "hand@example.com", START + timedelta(minutes=1))


def test_every_event_of_every_provider_and_cause_is_as_documented(
    store: Any, writer: Writer, room: PublishHarness
) -> None:
    all_causes(writer)

    done = room.publish()

    schemas = {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in EVENTS.glob("*.json")}
    seen: set[tuple[str, str | None]] = set()
    for entry in (entry for call in room.events.calls for entry in call):
        detail = json.loads(entry["Detail"])
        assert faults(detail, schemas[entry["DetailType"].replace(" ", "-")]) == []
        assert detail["key"] == detail["body"].get("message_id", detail["body"].get("address"))
        seen.add((entry["DetailType"], detail["body"].get("because", {}).get("type")))
    assert done == {"published": store.value("select count(*) from outbox"), "failed": 0}
    assert seen >= {
        ("status changed", None),
        ("address suppressed", "bounced"),
        ("address suppressed", "complained"),
        ("address suppressed", "unsubscribed"),
        ("address suppressed", "soft_bounces"),
        ("address suppressed", "manual"),
        ("suppression lifted", "resubscribed"),
        ("suppression lifted", "delivered"),
        ("suppression lifted", "manual"),
    }


def test_a_soft_stop_that_late_events_move_before_a_lift_says_who_lifted(writer: Writer, room: PublishHarness) -> None:
    """A manual lift or one by an event; then bounces that happened earlier than those which had stopped the address."""
    for name, lift in (("hand@example.com", None), ("event@example.com", "resubscribe")):
        bounces = [
            raw(f"{name}{n}", "bounce", at(10 * n), message_id=f"{name}{n}", recipient=name, bounce_type="Transient")
            for n in range(10)
        ]
        if lift:
            writer.fold("sesmetric", raw(f"{name}lift", lift, at(60), message_id=f"{name}l", recipient=name))
        else:
            writer.decide(Effect.LIFT, name, START + timedelta(minutes=60))
        writer.fold("sesmetric", *bounces[5:])
        writer.sweep()
        writer.fold("sesmetric", *bounces[:5])
        writer.sweep()

    room.publish()

    said = [
        (detail["key"], entry["DetailType"], detail["body"]["because"]["type"])
        for entry in (entry for call in room.events.calls for entry in call)
        if "because" in (detail := json.loads(entry["Detail"]))["body"]
    ]
    assert sorted(said, key=lambda one: one[0]) == [
        ("event@example.com", "address suppressed", "soft_bounces"),
        ("event@example.com", "suppression lifted", "resubscribed"),
        ("hand@example.com", "address suppressed", "soft_bounces"),
        ("hand@example.com", "suppression lifted", "manual"),
    ]
