"""Other readings of stored events, and the state brought to what they amount to, in one transaction of the caller."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mailfold.errors import DataRejected
from mailfold.jsontext import dumps
from mailfold.store.connection import Transaction
from mailfold.store.reading import read

#: What an adapter decides about an event; the id, the source, the raw and when it was received stay as they are.
COLUMNS = (
    "fingerprint",
    "kind",
    "type",
    "bounce_class",
    "effect",
    "scope",
    "message_id",
    "recipient",
    "occurred_at",
    "reason",
    "machine",
    "message_fault",
)

#: An argument that selects nothing must not keep the others from their index.
FORCE_CUSTOM_PLAN = "set local plan_cache_mode = force_custom_plan"

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Written:
    """What became of the events and of the state."""

    #: Each event as it was and as it is now.
    changes: list[dict[str, Row]]
    #: Ids of events whose new reading Postgres refuses.
    refused: list[str]
    #: Message, recipient, kind, and whether that status was added, removed or moved in time.
    statuses: list[Row]
    #: Address, scope, and whether it is stopped now; only where that is not what it was.
    addresses: list[Row]


def write_readings(tx: Transaction, readings: Sequence[Row], *, publish: bool) -> Written:
    """Write the readings and take from the state what only the old ones supported.

    The tables are locked in the order of the fold, each before the statement that looks at what supports its rows: a
    batch that is folded meanwhile is either seen by it or joins its own events afterwards.
    """
    refused: list[str] = []
    changes = _write_events(tx, sorted(readings, key=lambda row: str(row["event_id"])), refused)
    if not changes:
        return Written(changes=[], refused=refused, statuses=[], addresses=[])
    was = dumps([change["was"] for change in changes])
    touched = dumps([reading for change in changes for reading in change.values()])
    keys = dumps(read(tx, "replay_hold_statuses", {"readings": touched}))
    statuses = read(tx, "replay_statuses", {"keys": keys, "was": was, "publish": publish})
    keys = dumps(read(tx, "replay_hold_suppressions", {"readings": touched}))
    addresses = read(tx, "replay_suppressions", {"keys": keys, "was": was, "publish": publish})
    return Written(changes=changes, refused=refused, statuses=statuses, addresses=addresses)


def _write_events(tx: Transaction, readings: Sequence[Row], refused: list[str]) -> list[dict[str, Row]]:
    """Write the readings of events; on a value that Postgres refuses, halve them until that event stands alone."""
    if not readings:
        return []
    tx.execute("savepoint readings")
    try:
        return read(tx, "replay_events", {"readings": dumps(readings)})
    except DataRejected:
        tx.execute("rollback to savepoint readings")
    if len(readings) == 1:
        refused.append(str(readings[0]["event_id"]))
        return []
    middle = len(readings) // 2
    return _write_events(tx, readings[:middle], refused) + _write_events(tx, readings[middle:], refused)
