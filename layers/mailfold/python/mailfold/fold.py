"""The rules of the fold as data, and the fold itself as one pure function over a set of events.

The SQL in store/sql/fold.sql is the fast form of `fold`; tests hold the two equal.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from mailfold.events import BounceClass, Effect, Event, EventType

Kind = tuple[EventType, BounceClass | None]

#: The highest rank seen is the status of a message for a recipient. Each row stands where it does because:
RANK: dict[Kind, int] = {
    (EventType.PROCESSED, None): 10,  # the provider has it: nothing is known yet
    (EventType.DEFERRED, None): 20,  # the provider still tries
    (EventType.BOUNCED, BounceClass.UNKNOWN): 30,  # nobody says that the address is dead
    (EventType.BOUNCED, BounceClass.SOFT): 31,  # given up for now; a delivery of a later try outranks it
    (EventType.DELIVERED, None): 40,
    (EventType.OPENED, None): 50,  # implies delivered, even where `delivered` never arrives
    (EventType.CLICKED, None): 60,  # implies opened, even with images off
    (EventType.UNSUBSCRIBED, None): 70,  # a recipient's will outranks engagement
    (EventType.DROPPED, None): 80,  # never sent, whatever else was reported
    (EventType.BOUNCED, BounceClass.HARD): 90,  # final, also after `delivered`: normal for SES
    (EventType.COMPLAINED, None): 100,  # the worst thing that can happen to a sender
}

#: What an event does to the suppression list when its adapter knows no better.
EFFECTS: dict[Kind, Effect] = {
    (EventType.BOUNCED, BounceClass.HARD): Effect.SUPPRESS,  # the address does not exist
    (EventType.COMPLAINED, None): Effect.SUPPRESS,  # mailing on harms every other recipient
    (EventType.UNSUBSCRIBED, None): Effect.SUPPRESS,  # in the event's scope
    (EventType.RESUBSCRIBED, None): Effect.LIFT,
}


#: Soft bounces in a row, with no delivery since, after which an address is stopped. Five is what senders who publish
#: their rule use; bounces that the message caused do not count.
SOFT_LIMIT = 5
#: What breaks a row of soft bounces: the address took a mail.
ENGAGED = {EventType.DELIVERED, EventType.OPENED, EventType.CLICKED}


def effect_of(event_type: EventType, bounce_class: BounceClass | None = None) -> Effect | None:
    """Return what an event of this kind does to the suppression list unless its adapter says otherwise."""
    return EFFECTS.get((event_type, bounce_class))


@dataclass(frozen=True, kw_only=True)
class Status:
    """When a message first and last had one kind of event for one recipient."""

    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, kw_only=True)
class Suppression:
    """Why an address is stopped in one scope: the events that decide it, each as (occurred_at, event_id)."""

    first_suppress: tuple[datetime, str] | None = None
    last_suppress: tuple[datetime, str] | None = None
    last_lift: tuple[datetime, str] | None = None

    @property
    def active(self) -> bool:
        """Stopped while no lift is newer than the newest stop; at the same instant the stop wins, being safer."""
        if self.last_suppress is None:
            return False
        return self.last_lift is None or self.last_suppress[0] >= self.last_lift[0]


@dataclass(frozen=True, kw_only=True)
class Folded:
    """The state that a set of events amounts to."""

    statuses: dict[tuple[str, str, EventType, BounceClass | None], Status]
    suppressions: dict[tuple[str, str], Suppression]


def fold(events: Iterable[Event]) -> Folded:
    """Fold a set of events; order and copies make no difference, and of a conflict every content counts."""
    folded = Folded(statuses={}, suppressions={})
    for event in {(event.event_id, event.fingerprint): event for event in events}.values():
        _fold_status(folded, event)
        _fold_suppression(folded, event)
    return folded


def soft_suppressions(events: Iterable[Event], limit: int = SOFT_LIMIT) -> dict[str, tuple[datetime, tuple[str, ...]]]:
    """Return when each address was stopped for soft bounces in a row, and the events that did it."""
    known = {event.event_id: event for event in sorted(events, key=lambda event: event.fingerprint, reverse=True)}
    rows: dict[str, list[tuple[datetime, str]]] = {}
    engaged_at: dict[str, datetime] = {}
    for event in known.values():
        if event.recipient is None:
            continue
        if event.type in ENGAGED:
            engaged_at[event.recipient] = max(engaged_at.get(event.recipient, event.occurred_at), event.occurred_at)
        elif event.bounce_class is BounceClass.SOFT and not event.message_fault:
            rows.setdefault(event.recipient, []).append((event.occurred_at, event.event_id))
    stops = {}
    for address, bounces in rows.items():
        row = sorted(bounce for bounce in bounces if address not in engaged_at or bounce[0] > engaged_at[address])
        if len(row) >= limit:
            stops[address] = (row[limit - 1][0], tuple(event_id for _, event_id in row[:limit]))
    return stops


def current_status(kinds: Iterable[Kind]) -> Kind | None:
    """Return the kind that ranks highest, or None where none has a rank."""
    return max((kind for kind in kinds if kind in RANK), key=RANK.__getitem__, default=None)


def _fold_status(folded: Folded, event: Event) -> None:
    if event.message_id is None or event.recipient is None:
        return
    key = (event.message_id, event.recipient, event.type, event.bounce_class)
    known = folded.statuses.get(key)
    folded.statuses[key] = Status(
        first_at=min(known.first_at, event.occurred_at) if known else event.occurred_at,
        last_at=max(known.last_at, event.occurred_at) if known else event.occurred_at,
    )


def _fold_suppression(folded: Folded, event: Event) -> None:
    if event.effect is None or event.recipient is None:
        return
    key = (event.recipient, event.scope)
    known = folded.suppressions.get(key, Suppression())
    this = (event.occurred_at, event.event_id)
    if event.effect is Effect.SUPPRESS:
        known = replace(
            known,
            first_suppress=min(known.first_suppress or this, this),
            last_suppress=max(known.last_suppress or this, this),
        )
    else:
        known = replace(known, last_lift=max(known.last_lift or this, this))
    folded.suppressions[key] = known
