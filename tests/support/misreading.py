"""Adapters that say something else than they should, so that a replay has something to correct."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from mailfold.events import BounceClass, Effect, Event, EventType, Raw
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin

Change = Callable[[Event], Event]

HARD = {"bounce_type": "Permanent"}
SOFT = {"bounce_type": "Transient"}


@contextmanager
def read_as(change: Change, provider: str = "sesmetric") -> Iterator[None]:
    """Let an adapter say something else than it should."""
    right = REGISTRY[provider]

    def parse(raw: Raw, origin: Origin) -> list[Event]:
        return [change(event) for event in right.parse(raw, origin)]

    with patch.dict(REGISTRY, {provider: replace(right, parse=parse)}):
        yield


def every_bounce_hard(event: Event) -> Event:
    if event.type is not EventType.BOUNCED:
        return event
    return replace(event, bounce_class=BounceClass.HARD, effect=Effect.SUPPRESS)


def everything_other(event: Event) -> Event:
    return replace(event, type=EventType.OTHER, bounce_class=None, effect=None)
