"""What becomes of a row when a person is erased: one about the person is emptied, a mention elsewhere is replaced."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mailfold.erasure import ERASED_RAW, ERASED_REASON, ERASED_TEXT
from mailfold.jsontext import dumps
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.redaction import Redaction
from mailfold.request import Source

Row = Mapping[str, Any]

#: What evidence and outbox_staging name things by.
_IDS = {"event_id", "event_ids", "message_id", "scope"}
_EVENTS = '"events":['


@dataclass(frozen=True, kw_only=True)
class Change:
    """A row without the person, as JSON; what is in `over` goes before what is in `becomes`."""

    was: str
    becomes: str
    over: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Return it as the statements take it: numbers that Python would round stay what they are."""
        return f'{{"was":{self.was},"becomes":{self.becomes},"over":{dumps(self.over)}}}'


class Eraser:
    """Takes one person out of rows, by the rules of each table."""

    def __init__(self, redaction: Redaction, sources: Mapping[str, Source]) -> None:
        self._redaction = redaction
        self._sources = sources
        self._rules: dict[str, Callable[[Row], Mapping[str, Any]]] = {
            "suppressions": self._suppression,
            "message_status": self._status,
            "email_events": self._event,
            "dead_letters": self._dead_letter,
            "outbox": self._outbox,
            "claims": self._claim,
        }

    def change(self, table: str, text: str) -> Change | None:
        """Return what becomes of a row, None if it stays what it is."""
        row = json.loads(text)
        over = dict(self._rules[table](row))
        # A raw is not written from what Python read of it.
        mentions = table == "email_events" and "payload" not in over
        becomes = self._redaction.redact(text) if mentions else text
        if becomes == text and all(row[name] == value for name, value in over.items()):
            return None
        return Change(was=text, becomes=becomes, over=over)

    def _suppression(self, row: Row) -> Mapping[str, Any]:
        owner = row["address"]
        ids = ("first_suppress_event_id", "last_suppress_event_id", "last_lift_event_id", "scope")
        evidence = ("first_suppress", "last_suppress", "last_lift", "soft_suppress")
        return {
            "address": self._name(owner),
            **{name: self._id(row[name], owner) for name in ids},
            **{name: self._evidence(row[name], owner) for name in evidence},
            "manual_reason": row["manual_reason"] and self._redaction.redact(row["manual_reason"]),
        }

    def _status(self, row: Row) -> Mapping[str, Any]:
        owner = row["recipient"]
        return {"recipient": self._name(owner), "message_id": self._id(row["message_id"], owner)}

    def _event(self, row: Row) -> Mapping[str, Any]:
        owner, own = row["recipient"], self._redaction.is_address(row["recipient"])
        # An event of which no recipient is known is about the person whom it names.
        own = own or (owner is None and self._is_named_in(json.dumps([row["payload"], row["reason"]])))
        whose = self._redaction.form if own else owner
        ids = {name: self._id(row[name], whose) for name in ("event_id", "message_id", "scope", "kind")}
        if not own:
            return ids
        return {**ids, "recipient": owner and self._redaction.form, "reason": None, "payload": ERASED_RAW}

    def _dead_letter(self, row: Row) -> Mapping[str, Any]:
        raw = self._raw(row)
        whose = self._redaction.form if raw == ERASED_TEXT else None
        over = {"claim_key": self._id(row["claim_key"], whose), "raw": raw}
        if whose:
            return {**over, "reason": ERASED_REASON, "headers": {}}
        headers = {name: self._redaction.redact(value) for name, value in row["headers"].items()}
        return {**over, "reason": self._redaction.redact(row["reason"]), "headers": headers}

    def _outbox(self, row: Row) -> Mapping[str, Any]:
        body = row["body"]
        owner = body.get("recipient") or body.get("address") or row["key"]
        key = self._name(row["key"]) if self._redaction.is_address(row["key"]) else self._id(row["key"], owner)
        becomes = dict(self._evidence(body, owner) or {})
        becomes |= {name: self._name(body[name]) for name in ("recipient", "address") if name in body}
        if isinstance(body.get("because"), dict):
            becomes["because"] = self._evidence(body["because"], owner)
        return {"key": key, "body": becomes}

    def _claim(self, row: Row) -> Mapping[str, Any]:
        result = json.loads(self._redaction.redact(json.dumps(row["result"])))
        return {"claim_key": self._redaction.redact_id(row["claim_key"]), "result": result}

    def _evidence(self, evidence: Any, owner: str) -> Any:
        """Return the evidence of a decision; what a provider said in words of its own is dropped for the person."""
        if not isinstance(evidence, dict):
            return evidence
        drop = self._redaction.is_address(owner) and evidence.get("type") != "manual"
        return {
            name: None if name == "reason" and drop else self._evidence_of(name, value, owner)
            for name, value in evidence.items()
        }

    def _evidence_of(self, name: str, value: Any, owner: str) -> Any:
        if isinstance(value, list):
            return [self._evidence_of(name, one, owner) for one in value]
        if not isinstance(value, str):
            return value
        return self._id(value, owner) if name in _IDS else self._redaction.redact(value)

    def _name(self, text: str | None) -> str | None:
        return self._redaction.form if self._redaction.is_address(text) else text

    def _id(self, text: str | None, owner: str | None) -> str | None:
        """Return an id without the address; where it is not known whose it is, a longer one is taken for another."""
        if not text:
            return text
        return self._redaction.redact_id(text, owner=owner) if owner else self._redaction.redact(text)

    def _is_named_in(self, text: str) -> bool:
        return self._redaction.redact(text) != text

    def _raw(self, row: Row) -> str:
        """Return the raw of a dead letter; of several events only those that are about the person are emptied."""
        raw: str = row["raw"]
        if not self._is_named_in(raw):
            return raw
        if raw.lstrip().startswith("["):
            return self._each_event(raw, raw.index("["), row) or ERASED_TEXT
        if row["source"] is None and _EVENTS in raw:
            begins = raw.index(_EVENTS) + len(_EVENTS) - 1
            rest = self._each_event(raw, begins, row)
            return self._redaction.redact(rest) if rest else ERASED_TEXT
        return self._raw_event(raw, row)

    def _each_event(self, raw: str, begins: int, row: Row) -> str | None:
        """Return the text with each event of the list that begins here looked at; None if there is no such list."""
        decoder, at, kept = json.JSONDecoder(), begins + 1, [raw[: begins + 1]]
        try:
            while raw[at].isspace() or raw[at] in ",":
                at += 1
            while raw[at] != "]":
                _, end = decoder.raw_decode(raw, at)
                kept.append(self._raw_event(raw[at:end], row))
                begins = at = end
                while raw[at].isspace() or raw[at] == ",":
                    at += 1
                kept.append(raw[begins:at])
        except (ValueError, IndexError, RecursionError):
            return None
        return "".join([*kept, raw[at:]])

    def _raw_event(self, raw: str, row: Row) -> str:
        if not self._is_named_in(raw):
            return raw
        recipients = self._recipients(raw, row)
        about_others = any(not self._redaction.is_address(recipient) for recipient in recipients)
        return self._redaction.redact(raw) if about_others else ERASED_TEXT

    def _recipients(self, raw: str, row: Row) -> set[str]:
        """Return the recipients whom today's adapter reads in a raw event; none where it cannot read it."""
        provider = REGISTRY.get(row["provider"] or "")
        if provider is None:
            return set()
        source = self._sources.get(row["source"]) or Source(name=row["source"], provider=row["provider"])
        origin = Origin(
            source=source, received_at=datetime.fromisoformat(row["received_at"]), headers=dict(row["headers"])
        )
        try:
            return {event.recipient for event in provider.parse(json.loads(raw), origin) if event.recipient}
        except Exception:
            return set()
