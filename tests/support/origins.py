"""Where the events of adapter tests come from."""

from collections.abc import Mapping
from datetime import UTC, datetime

from mailfold.events import Event, Raw
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.request import Source
from samples import sampler

RECEIVED_AT = datetime(2026, 1, 5, 12, 30, 0, 250_000, tzinfo=UTC)


def parse(
    provider: str, raw: Raw, *, headers: Mapping[str, str] | None = None, received_at: datetime = RECEIVED_AT
) -> list[Event]:
    """Read one raw event as if it had come through the source `main`."""
    carried = dict.fromkeys(REGISTRY[provider].headers, "id-1") if headers is None else headers
    source = Source(name="main", provider=provider, options=sampler(provider).OPTIONS)
    origin = Origin(source=source, received_at=received_at, headers=carried)
    return REGISTRY[provider].parse(raw, origin)
