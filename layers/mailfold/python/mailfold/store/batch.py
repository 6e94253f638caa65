"""The statements of one unit of work: each takes a whole batch in one parameter, so round trips do not grow with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

import orjson

from mailfold.errors import DataRejected, MalformedPayload, TransientStoreError
from mailfold.events import Event, digest
from mailfold.jsontext import dumps, storable_text
from mailfold.store.connection import Transaction

TIMES = ("occurred_at", "received_at")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The right to process one envelope, once."""

    claim_key: str
    request_hash: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Holder:
    """A claim that was taken before, and what came of it."""

    request_hash: str
    result: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class DeadLetter:
    """Something that could not be folded, with its reason."""

    kind: str
    reason: str
    source: str | None = None
    provider: str | None = None
    claim_key: str | None = None
    #: The request headers that the provider's parse needs.
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str
    received_at: datetime
    #: What makes it the same dead letter, where that is not the text of raw.
    identity: str | None = None
    #: True where its content failed an authenticity check.
    unproven: bool = False

    @property
    def dead_letter_id(self) -> str:
        """The same input refused for the same kind of reason is one dead letter, however often it arrives."""
        return dead_letter_id(self.source, self.kind, self.identity or self.raw, unproven=self.unproven)


def dead_letter_id(source: str | None, kind: str, identity: str, *, unproven: bool) -> str:
    """Return the id of a dead letter; what is proven and what is not never share one, so neither can hide the other."""
    return digest(source or "", f"{kind}:unproven" if unproven else kind, identity)


@dataclass(frozen=True, kw_only=True)
class Replaced:
    """The content of an event that made room for another content of the same event."""

    event_id: str
    fingerprint: str
    source: str
    provider: str
    received_at: datetime
    raw: Any


def claim(tx: Transaction, claims: Iterable[Claim]) -> dict[str, Holder | None]:
    """Take every claim that is free; return for each key who held it before, None where it is ours now."""
    wanted: dict[str, dict[str, str]] = {}
    for one in claims:
        # The first record of a batch with this key is the one that runs.
        row = {"claim_key": one.claim_key, "request_hash": one.request_hash, "source": one.source}
        wanted.setdefault(one.claim_key, row)
    taken = {row[0] for row in tx.run("claim", {"claims": _json(list(wanted.values()))})}
    outcome: dict[str, Holder | None] = dict.fromkeys(taken)
    held = wanted.keys() - taken
    if held:
        outcome.update(_holders(tx, held))
    if outcome.keys() != wanted.keys():
        raise TransientStoreError("a claim was pruned while it was read")
    return outcome


def _holders(tx: Transaction, keys: Iterable[str]) -> dict[str, Holder]:
    rows = tx.run("holders", {"claim_keys": _json(sorted(keys))})
    return {key: Holder(request_hash=request_hash, result=result) for key, request_hash, result in rows}


def fold(tx: Transaction, events: Sequence[Event], *, publish: bool) -> set[str]:
    """Fold the events; return the ids that nobody had stored before."""
    known, _ = _run_fold(tx, events, publish=publish, settle=False)
    return {event.event_id for event in events}.difference(known)


def settle(tx: Transaction, events: Sequence[Event], *, publish: bool) -> list[Replaced]:
    """Fold events that are stored with other content; return the contents that had to make room."""
    _, replaced = _run_fold(tx, events, publish=publish, settle=True)
    return [
        Replaced(
            event_id=content["event_id"],
            fingerprint=content["fingerprint"],
            source=content["source"],
            provider=content["provider"],
            received_at=datetime.fromisoformat(content["received_at"]),
            raw=content["payload"],
        )
        for content in replaced
    ]


def _run_fold(
    tx: Transaction, events: Sequence[Event], *, publish: bool, settle: bool
) -> tuple[list[str], list[dict[str, Any]]]:
    [[known, replaced]] = tx.run("fold", {"events": _rows(events), "publish": publish, "settle": settle})
    return known or [], replaced or []


def _json(value: Any) -> str:
    """Write a parameter; a text that orjson refuses is left to the slower encoder and to Postgres' own refusal."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return dumps(value)


def _rows(events: Sequence[Event]) -> str:
    """Return events as the JSON that the fold reads: an object of all fields for each."""
    try:
        return orjson.dumps(events).decode()
    except TypeError:
        # A number beyond 64 bits or deep nesting, which orjson refuses and the slower encoder may not.
        return _odd_rows(events)


def _odd_rows(events: Sequence[Event]) -> str:
    names = [it.name for it in fields(Event)]
    rows = [{name: getattr(event, name) for name in names} for event in events]
    try:
        return dumps([{**row, **{name: row[name].isoformat() for name in TIMES}} for row in rows])
    except MalformedPayload as exc:
        raise DataRejected(str(exc)) from exc


def fingerprint_mismatches(tx: Transaction, events: Iterable[Event]) -> dict[str, str]:
    """Return under which fingerprint an event is stored, for those that are stored with another than their own."""
    pairs = [{"event_id": event.event_id, "fingerprint": event.fingerprint} for event in events]
    return {row[0]: row[1] for row in tx.run("held", {"events": _json(pairs)})}


def erased_as(tx: Transaction, events: Iterable[Event]) -> dict[str, str]:
    """Return the erased form of their recipient for those events that are stored under it."""
    rows = [{"event_id": event.event_id, "recipient": event.recipient} for event in events]
    return {row[0]: row[1] for row in tx.run("erased_as", {"events": _json(rows)})}


def complete(tx: Transaction, results: Mapping[str, Mapping[str, Any]], dead_letters: Iterable[DeadLetter]) -> None:
    """Record what came of each claim and keep what could not be folded."""
    tx.run(
        "complete",
        {
            "claims": _json([{"claim_key": key, "result": result} for key, result in results.items()]),
            "dead_letters": _json([_dead_letter_row(dead_letter) for dead_letter in dead_letters]),
        },
    )


def _dead_letter_row(dead_letter: DeadLetter) -> dict[str, Any]:
    return {
        "dead_letter_id": dead_letter.dead_letter_id,
        "kind": dead_letter.kind,
        "reason": storable_text(dead_letter.reason),
        "source": dead_letter.source,
        "provider": dead_letter.provider,
        "claim_key": dead_letter.claim_key,
        "headers": {name: storable_text(value) for name, value in dead_letter.headers.items()},
        "raw": storable_text(dead_letter.raw),
        "received_at": dead_letter.received_at.isoformat(),
        "unproven": dead_letter.unproven,
    }
