"""What a provider's file offers, and the reading aids they share."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mailfold.envelope import Envelope
from mailfold.errors import MalformedPayload, UnparseableEvent
from mailfold.events import Event, Raw, digest
from mailfold.jsontext import loads
from mailfold.request import Request, Source
from mailfold.secret_forms import Form
from mailfold.signatures import Proof

#: Later than any seconds value and earlier than any milliseconds value of a mail: 5138-11-16 against 1973-03-03.
_FIRST_MILLISECONDS = 10**11
#: The longest of all retry horizons (Standard Webhooks' schedule), and that of a sender whose own is not known.
LONGEST_HORIZON_HOURS = 76
_NUMBERS = (int, float)
_STAMPS = (int, float, str)
#: Far more than any provider needs to state a time.
_LONGEST_STAMP = 64


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where the raw events of an envelope come from."""

    source: Source
    received_at: datetime
    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One provider: how to verify it, and how to read it."""

    name: str
    #: Turn one raw event into events, one per recipient.
    parse: Callable[[Raw, Origin], list[Event]]
    #: Prove the sender of a request with the source's secrets; None where requests never come over HTTP.
    verify: Callable[[Request, Source, Sequence[str]], Proof] | None = None
    #: Cut a verified body into raw events.
    split: Callable[[bytes, Source], list[Raw]]
    #: Recognise a queue record that did not pass our door; None for every provider that must.
    unwrap: Callable[[Mapping[str, Any], Mapping[str, str], datetime], Envelope | None] | None = None
    #: Recognise a call that only asks whether anybody is there; it is answered 200 and nothing of it is read.
    probe: Callable[[Request], bool] | None = None
    #: The key under which the provider itself wants a request to be processed once; None in a request is a 400.
    key: Callable[[Request], str | None] | None = None
    #: What a verified request is claimed by instead of the digest of its body, such as a token for single use.
    claim: Callable[[Request], str] | None = None
    #: True where the signature covers the claim and not the event: of several contents under one claim only the first
    #: is believed. The others are unproven, and no redrive folds them unless a person names each of them.
    signs_claim_only: bool = False
    #: Where the certificate lies that a request names, pinned to the provider's own host; None where none is needed.
    certificate_url: Callable[[Request, Sequence[str]], str] | None = None
    #: What must be fetched to confirm a subscription that a verified request asks for, pinned likewise.
    confirm_url: Callable[[Request], str | None] | None = None
    #: Refuse source settings that could never work, with a sentence, at synth and at start.
    check: Callable[[Source], None] | None = None
    #: The answer that makes this provider send again.
    busy_status: int = 503
    #: What a secret must look like; the door uses no other.
    secret_form: Form
    #: For how many hours after a switch a request may still be proven with the old secret, rounded up.
    horizon_hours: int
    #: Request headers that parse needs, lower case.
    headers: tuple[str, ...] = ()


def split_json(body: bytes, source: Source) -> list[Raw]:
    """Cut a body that is one JSON object or an array of them."""
    return as_events(loads(body))


def as_events(parsed: Any) -> list[Raw]:
    """Return what was parsed as a list of objects."""
    events = parsed if isinstance(parsed, list) else [parsed]
    if not all(isinstance(event, dict) for event in events):
        raise MalformedPayload("the body is JSON but not an object or an array of objects")
    return events


def split_inside(name: str) -> Callable[[bytes, Source], list[Raw]]:
    """Cut a body whose events stand in an array under this name."""

    def split(body: bytes, source: Source) -> list[Raw]:
        parsed = loads(body)
        if not isinstance(parsed, dict) or not isinstance(parsed.get(name), list):
            raise MalformedPayload(f"the body is JSON but has no array {name}")
        return as_events(parsed[name])

    return split


def canonical_digest(raw: Raw) -> str:
    """Return a digest of an event without an id, whatever its spaces and the order of its keys."""
    try:
        return digest(json.dumps(raw, sort_keys=True, separators=(",", ":")))
    except RecursionError:
        # What could still be read at the door may be too deep for the longer stack here.
        raise UnparseableEvent("nested too deep") from None


def text_of(raw: Raw, *names: str) -> str | None:
    """Return the first of these fields that holds something, as text."""
    for name in names:
        value = raw.get(name)
        # Asked some ten times for each event, mostly about fields that are not there.
        if value is None:
            continue
        if isinstance(value, str):
            if value:
                return value
        elif isinstance(value, _NUMBERS) and not isinstance(value, bool):
            return str(value)
    return None


def require(value: str | None, what: str) -> str:
    """Return the value or quarantine the event that lacks it."""
    if value is None:
        raise UnparseableEvent(f"no {what}")
    return value


def object_of(raw: Raw, name: str) -> Raw:
    """Return a nested object, empty where there is none."""
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def objects_of(raw: Raw, name: str) -> list[Raw]:
    """Return a nested list of objects, without whatever else is in it."""
    value = raw.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts_of(raw: Raw, name: str) -> list[str]:
    """Return a nested list of texts, without whatever else is in it."""
    value = raw.get(name)
    return [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else []


def address_of(value: str | None) -> str | None:
    """Return the bare address in lower case; `Ann <Ann@Example.com>` becomes `ann@example.com`."""
    if value is None:
        return None
    bare = value.strip()
    if bare.endswith(">"):
        inside = bare[bare.rfind("<") + 1 : -1]
        bare = inside.strip() if inside and "<" in bare and ">" not in inside else bare
    return bare.lower() or None


def time_of(value: Any) -> datetime:
    """Read Unix seconds or milliseconds, as number or digits, or ISO 8601; without an offset it is UTC."""
    try:
        if isinstance(value, str) and len(value) > _LONGEST_STAMP:
            raise UnparseableEvent("a time that is too long")
        if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if isinstance(value, bool) or not isinstance(value, _STAMPS):
            raise UnparseableEvent("no time")
        seconds = float(value)
        return datetime.fromtimestamp(seconds / 1000 if seconds >= _FIRST_MILLISECONDS else seconds, UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise UnparseableEvent("a time that is none") from exc
