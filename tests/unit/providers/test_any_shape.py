"""Every adapter against every shape: junk in the place of anything is an event or unparseable, and nothing else."""

import copy
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.jsontext import dumps, loads
from mailfold.providers import REGISTRY
from samples import Raw, sampler
from tests.support.origins import RECEIVED_AT, parse

EVERY_SAMPLE = [(provider, name) for provider in REGISTRY for name in sampler(provider).SAMPLES]
JUNK: list[Any] = [None, True, "", "x", "\x00\ud800", 0, -1, 1e308, 10**40, [], [None, 5, "a"], {}, {"a": []}]


def sample(provider: str, name: str) -> Raw:
    return copy.deepcopy(dict(sampler(provider).SAMPLES[name]))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a raw event where something else could stand."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def put(raw: Raw, path: tuple[Any, ...], value: Any) -> Raw:
    inside: Any = raw
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return raw


@pytest.mark.parametrize(("provider", "name"), EVERY_SAMPLE)
def test_junk_in_the_place_of_anything_is_an_event_or_unparseable(provider: str, name: str) -> None:
    for path in places(sample(provider, name)):
        for junk in JUNK:
            raw = put(sample(provider, name), path, junk)

            try:
                events = parse(provider, raw)
            except UnparseableEvent:
                continue

            assert all(len(event.fingerprint) == 32 for event in events)


@pytest.mark.parametrize(("provider", "name"), EVERY_SAMPLE)
def test_an_event_is_whole(provider: str, name: str) -> None:
    raw = sample(provider, name)

    events = parse(provider, raw)

    assert events
    for event in events:
        assert event.event_id.startswith(f"{provider}:")
        assert (event.source, event.provider, event.raw) == ("main", provider, raw)
        assert event.occurred_at.utcoffset() == timedelta(0)
        assert event.recipient is None or event.recipient == event.recipient.lower()
        assert (event.bounce_class is not None) == (event.type == "bounced")
        assert loads(dumps(event.raw)) == raw


@pytest.mark.parametrize(("provider", "name"), EVERY_SAMPLE)
def test_a_redelivery_days_later_has_the_same_ids_and_fingerprints(provider: str, name: str) -> None:
    first = parse(provider, sample(provider, name))
    again = parse(provider, sample(provider, name), received_at=RECEIVED_AT + timedelta(days=2))

    assert [event.event_id for event in first] == [event.event_id for event in again]
    assert [event.fingerprint for event in first] == [event.fingerprint for event in again]
