"""Stored events read again by today's adapters: which of today's events each of them is, and what it says now."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mailfold import budget
from mailfold.erasure import ERASED, ERASED_REASON
from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.jsontext import dumps, restore_raw
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin, Provider
from mailfold.request import Source
from mailfold.steps.unit import plainly_named, storable
from mailfold.store.replay import COLUMNS, Row


class LeftAlone(Exception):
    """An event stays as it is; the sentence says why."""


@dataclass(kw_only=True)
class Reparse:
    """What today's adapters say of some stored events."""

    #: The readings that differ from what is stored, by event id.
    readings: dict[str, Row] = field(default_factory=dict)
    #: Why an event was not read, by event id.
    left_alone: dict[str, str] = field(default_factory=dict)
    #: Sources that are no longer configured, so that their settings are not known.
    not_configured: set[str] = field(default_factory=set)


def reread(rows: Iterable[Row], sources: Mapping[str, Source]) -> Reparse:
    """Read stored rows again; those of one raw share its events, each of which can be only one of them."""
    found = Reparse()
    known = list(rows)
    erased = {row["event_id"] for row in known if str(row["recipient"]).startswith(ERASED)}
    # Their raws are gone.
    found.left_alone.update(dict.fromkeys(erased, ERASED_REASON))
    with budget.metered():
        for raws in _by_raw(row for row in known if row["event_id"] not in erased).values():
            try:
                events = _parse(raws[0], sources, found)
            except LeftAlone as reason:
                found.left_alone.update((row["event_id"], str(reason)) for row in raws)
            else:
                _match_all(raws, events, found)
    return found


def _by_raw(rows: Iterable[Row]) -> dict[tuple[Any, ...], list[Row]]:
    shared: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        shared[row["source"], row["provider"], row["received_at"], dumps(row["payload"])].append(row)
    return shared


def _parse(row: Row, sources: Mapping[str, Source], found: Reparse) -> list[Event]:
    provider = REGISTRY.get(row["provider"])
    if provider is None:
        raise LeftAlone("its provider is not known any more")
    origin = Origin(
        source=_source(row, provider, sources, found),
        received_at=datetime.fromisoformat(row["received_at"]),
        # Headers are not stored. Where the id was one, it stands for it; an id that was made of one is another now,
        # hence the other ways to match.
        headers=dict.fromkeys(provider.headers, row["event_id"].partition(":")[2]),
    )
    try:
        with budget.one_piece:
            events = provider.parse(restore_raw(row["payload"]), origin)
            return [plainly_named(storable(event) if isinstance(row["payload"], str) else event) for event in events]
    except UnparseableEvent as reason:
        raise LeftAlone(f"unparseable: {reason}") from reason
    except Exception as surprise:
        raise LeftAlone(f"the adapter failed: {type(surprise).__name__}") from surprise


def _source(row: Row, provider: Provider, sources: Mapping[str, Source], found: Reparse) -> Source:
    source = sources.get(row["source"])
    if source is not None and source.provider == row["provider"]:
        return source
    if provider.check is not None:
        raise LeftAlone("its source is no longer configured, and how to read it stood in the source's settings")
    found.not_configured.add(row["source"])
    return Source(name=row["source"], provider=row["provider"])


def _match_all(rows: Sequence[Row], events: Sequence[Event], found: Reparse) -> None:
    """Match by id, then by the provider's words, then by the recipient where that leaves one event only."""
    free, left = list(events), list(rows)
    for same in (_same_id, _same_words, _same_recipient):
        for row in list(left):
            matches = [event for event in free if same(row, event)]
            if len(matches) == 1:
                free.remove(matches[0])
                left.remove(row)
                _take(row, matches[0], found)
    found.left_alone.update((row["event_id"], "no event of its raw is this one any more") for row in left)


def _same_id(row: Row, event: Event) -> bool:
    return bool(event.event_id == row["event_id"])


def _same_words(row: Row, event: Event) -> bool:
    return bool(event.fingerprint == row["fingerprint"])


def _same_recipient(row: Row, event: Event) -> bool:
    return bool(event.recipient == row["recipient"])


def _take(row: Row, event: Event, found: Reparse) -> None:
    # The fingerprint too is today's: under the old one, a redelivery of words that are read otherwise is a conflict.
    reading = {name: getattr(event, name) for name in COLUMNS} | {"occurred_at": event.occurred_at.isoformat()}
    if differing(row, reading):
        found.readings[row["event_id"]] = {"event_id": row["event_id"], "seen": row["seen"], **reading}


def differing(row: Row, reading: Row) -> list[str]:
    """Name what a reading says otherwise than another one."""
    return [name for name in COLUMNS if _comparable(name, row[name]) != _comparable(name, reading[name])]


def _comparable(name: str, value: Any) -> Any:
    return datetime.fromisoformat(value) if name == "occurred_at" else value
