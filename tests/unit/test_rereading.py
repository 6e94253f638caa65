"""What today's adapters say of stored events: of every provider, and whatever became of its headers."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.events import Event
from mailfold.providers import REGISTRY
from mailfold.request import Source
from mailfold.steps.operate.reparse import reread
from samples import sampler
from tests.support.origins import parse


def stored(event: Event) -> dict[str, Any]:
    """Return an event as its row comes out of the store."""
    row = asdict(event)
    times = {name: row[name].astimezone(UTC).isoformat() for name in ("occurred_at", "received_at")}
    return {**row, **times, "payload": json.loads(json.dumps(event.raw)), "seen": "1"}


def rows_of(provider: str) -> list[dict[str, Any]]:
    return [stored(event) for raw in sampler(provider).SAMPLES.values() for event in parse(provider, raw)]


@pytest.mark.parametrize("provider", sorted(REGISTRY))
def test_what_was_read_rightly_is_read_the_same(provider: str) -> None:
    sources = {"main": Source(name="main", provider=provider, options=sampler(provider).OPTIONS)}

    found = reread(rows_of(provider), sources)

    assert (found.readings, found.left_alone) == ({}, {})


@pytest.mark.parametrize("provider", sorted(REGISTRY))
def test_what_was_read_wrongly_is_read_rightly_and_stays_the_row_it_is(provider: str) -> None:
    sources = {"main": Source(name="main", provider=provider, options=sampler(provider).OPTIONS)}
    rows = rows_of(provider)
    wrong = [{**row, "type": "odd", "reason": "odd", "effect": None} for row in rows]

    found = reread(wrong, sources)

    assert found.left_alone == {}
    assert {event_id: (row["type"], row["reason"], row["effect"]) for event_id, row in found.readings.items()} == {
        row["event_id"]: (row["type"], row["reason"], row["effect"]) for row in rows
    }


def test_a_time_is_the_same_in_whatever_zone_it_is_written() -> None:
    [row] = rows_of("sesmetric")[:1]
    moved = datetime.fromisoformat(row["occurred_at"]).astimezone().isoformat()

    found = reread(
        [{**row, "occurred_at": moved.replace("+00:00", "Z")}], {"main": Source(name="main", provider="sesmetric")}
    )

    assert found.readings == {}
