"""What the tables must hold: computed from the set of events by the pure fold, and read back from Postgres."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from mailfold.errors import UnparseableEvent
from mailfold.events import Event, digest
from mailfold.fold import fold, soft_suppressions
from mailfold.jsontext import dumps
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.request import Source
from mailfold.store.connection import Database
from tests.property.histories import Fact

RECEIVED_AT = datetime(2026, 1, 1, tzinfo=UTC)
SOURCES = {name: Source(name=name, provider=name) for name in ("sendgrid", "sesmetric")}

Tables = dict[str, Any]


def expected(facts: Iterable[Fact], mark: str) -> Tables:
    """Fold the set; neither order nor copies exist here."""
    events: list[Event] = []
    dead_letters: set[str] = set()
    for fact in facts:
        raw = fact.raw(mark)
        origin = Origin(source=SOURCES[fact.source], received_at=RECEIVED_AT, headers={})
        try:
            events += REGISTRY[fact.source].parse(raw, origin)
        except UnparseableEvent:
            dead_letters.add(digest(fact.source, "unparseable", dumps(raw)))
    contents = {(event.event_id, event.fingerprint): event for event in events}
    # Of several contents the first by fingerprint is kept: sorted backwards, it is the last to be written here.
    kept = dict(sorted(contents, reverse=True))
    for (event_id, fingerprint), event in contents.items():
        if kept[event_id] != fingerprint:
            dead_letters.add(digest(event.source, "conflict", f"{event_id}:{fingerprint}"))
    folded = fold(contents.values())
    return {
        "events": kept,
        "totals": dict(Counter((contents[key].source, str(contents[key].type)) for key in kept.items())),
        "statuses": {
            (message, recipient, str(kind), str(bounce_class or "")): (_micros(one.first_at), _micros(one.last_at))
            for (message, recipient, kind, bounce_class), one in folded.statuses.items()
        },
        "suppressions": {
            key: tuple(_point(point) for point in (one.first_suppress, one.last_suppress, one.last_lift))
            for key, one in folded.suppressions.items()
        },
        "soft stops": {address: _micros(at) for address, (at, _) in soft_suppressions(contents.values()).items()},
        "dead_letters": dead_letters,
        "claims": 0,
    }


def actual(database: Database, mark: str) -> Tables:
    """Read the rows of one history, or all rows where there is no mark."""
    like = f"like '%{mark}-%'" if mark else "is not null"
    micros = "cast(extract(epoch from {0}) * 1000000 as bigint)".format
    statuses = database.execute(
        f"select message_id, recipient, type, bounce_class, {micros('first_at')}, {micros('last_at')} "
        f"from message_status where message_id {like}"
    )
    suppressions = database.execute(
        "select address, scope, "
        + ", ".join(
            f"{micros(f'{name}_at')}, {name}_event_id" for name in ("first_suppress", "last_suppress", "last_lift")
        )
        + f" from suppressions where address {like}"
    )
    marked = f"cast(payload as text) {like}"
    return {
        "events": dict(_pairs(database.execute(f"select event_id, fingerprint from email_events where {marked}"))),
        "totals": {
            (row[0], row[1]): row[2]
            for row in database.execute(
                "select source, type, cast(sum(events) as bigint) from ("
                f"select source, type, 1 as events from email_events where {marked} "
                f"union all select source, type, events from daily_totals where bounce_class = '{mark}'"
                ") counted group by 1, 2"
            )
        },
        "statuses": {(row[0], row[1], row[2], row[3]): (row[4], row[5]) for row in statuses},
        "soft stops": {
            row[0]: row[1]
            for row in database.execute(
                f"select address, {micros('soft_suppress_at')} from suppressions "
                f"where soft_suppress_at is not null and address {like}"
            )
        },
        "suppressions": {
            (row[0], row[1]): tuple(None if row[at] is None else (row[at], row[at + 1]) for at in (2, 4, 6))
            for row in suppressions
            if row[2] is not None or row[6] is not None
        },
        "dead_letters": {
            row[0] for row in database.execute(f"select dead_letter_id from dead_letters where raw like '%{mark}%'")
        },
        # A claim without a result would be one that was committed before its events.
        "claims": database.execute(f"select count(*) from claims where result is null and claim_key like '{mark}:%'")[
            0
        ][0],
    }


def _pairs(rows: list[list[Any]]) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in rows]


def _point(point: tuple[datetime, str] | None) -> tuple[int, str] | None:
    return None if point is None else (_micros(point[0]), point[1])


def _micros(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds
