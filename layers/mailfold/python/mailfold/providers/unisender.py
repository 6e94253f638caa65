"""Unisender Go callbacks: the body carries the MD5 of itself with the API key in the digest's place."""

from collections.abc import Sequence

from mailfold.errors import MalformedPayload, VerificationError
from mailfold.events import BounceClass, Effect, Event, EventType, Raw, digest
from mailfold.fold import effect_of
from mailfold.jsontext import loads
from mailfold.providers.base import (
    Origin,
    Provider,
    address_of,
    as_events,
    canonical_digest,
    object_of,
    require,
    text_of,
    time_of,
)
from mailfold.request import Request, Source
from mailfold.secret_forms import shared_key
from mailfold.signatures import Proof, prove_digest

NAME = "unisender"

# https://godocs.unisender.ru/web-api-ref#callback-format
TYPES = {
    "sent": EventType.PROCESSED,
    "delivered": EventType.DELIVERED,
    "opened": EventType.OPENED,
    "clicked": EventType.CLICKED,
    "unsubscribed": EventType.UNSUBSCRIBED,
    "subscribed": EventType.RESUBSCRIBED,
    "spam": EventType.COMPLAINED,
    "soft_bounced": EventType.BOUNCED,
    "hard_bounced": EventType.BOUNCED,
}

#: Unisender Go still tries.
RETRYING = {"err_will_retry"}
#: Never sent: the address had unsubscribed, or was skipped for what it did before.
NEVER_SENT = {"err_unsubscribed", "err_skip_letter"}
#: Called hard, but for the message or its sender: the address may be fine.
MESSAGE_FAULTS = {"err_spam_rejected", "err_spam_skipped", "err_too_large", "err_blacklisted", "err_delivery_failed"}

#: There is no event id: what else could tell two events of one second apart.
IDENTITY = ("job_id", "event_time", "url")
INFO_IDENTITY = ("delivery_status", "ip")


def probe(request: Request) -> bool:
    """Recognise the GET by which Unisender Go checks a URL."""
    return request.method == "GET"


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the digest; the body must be read for it, but nothing of it is believed before the check."""
    try:
        parsed = loads(request.body)
    except MalformedPayload:
        raise VerificationError from None
    auth = text_of(parsed, "auth") if isinstance(parsed, dict) else None
    if auth is None:
        raise VerificationError
    return prove_digest(secrets=secrets, body=request.body, given=auth)


def split(body: bytes, source: Source) -> list[Raw]:
    """Cut the events of every user; a callback in the single-event format is its own event."""
    parsed = loads(body)
    if not isinstance(parsed, dict):
        raise MalformedPayload("the body is JSON but not an object")
    if "events_by_user" not in parsed:
        return [{name: value for name, value in parsed.items() if name != "auth"}]
    return [event for user in _array(parsed, "events_by_user") for event in _array(user, "events")]


def _array(raw: Raw, name: str) -> list[Raw]:
    if not isinstance(raw.get(name), list):
        raise MalformedPayload(f"the body is JSON but has no array {name}")
    return as_events(raw[name])


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate one event."""
    name = text_of(raw, "event_name") or "transactional_email_status"
    data = object_of(raw, "event_data") or raw
    info = object_of(data, "delivery_info")
    if name != "transactional_email_status":
        return [_unknown(raw, name, data, origin)]
    kind = require(text_of(data, "status"), "status")
    recipient = address_of(text_of(data, "email"))
    event_type, bounce_class, effect = _meaning(kind, text_of(info, "delivery_status") or "")
    facts = [text_of(data, fact) or "" for fact in IDENTITY] + [text_of(info, fact) or "" for fact in INFO_IDENTITY]
    return [
        Event(
            event_id=f"{NAME}:{digest(kind, recipient or '', *facts)}",
            source=origin.source.name,
            provider=NAME,
            kind="/".join(filter(None, (kind, text_of(info, "delivery_status")))),
            type=event_type,
            bounce_class=bounce_class,
            effect=effect,
            message_id=text_of(data, "job_id"),
            recipient=recipient,
            # In UTC, without saying so.
            occurred_at=time_of(data.get("event_time")),
            received_at=origin.received_at,
            reason=text_of(info, "destination_response", "delivery_status") or text_of(data, "comment"),
            message_fault=text_of(info, "delivery_status") in MESSAGE_FAULTS,
            raw=raw,
        )
    ]


def _meaning(kind: str, status: str) -> tuple[EventType, BounceClass | None, Effect | None]:
    event_type = TYPES.get(kind, EventType.OTHER)
    if event_type is not EventType.BOUNCED:
        return event_type, None, effect_of(event_type)
    if status in RETRYING:
        return EventType.DEFERRED, None, None
    if status in NEVER_SENT:
        return EventType.DROPPED, None, Effect.SUPPRESS
    hard = kind == "hard_bounced" and status not in MESSAGE_FAULTS
    bounce_class = BounceClass.HARD if hard else BounceClass.SOFT
    return event_type, bounce_class, effect_of(event_type, bounce_class)


def _unknown(raw: Raw, name: str, data: Raw, origin: Origin) -> Event:
    stamp = text_of(data, "event_time", "block_time")
    return Event(
        event_id=f"{NAME}:{canonical_digest(raw)}",
        source=origin.source.name,
        provider=NAME,
        kind=name,
        type=EventType.OTHER,
        message_id=None,
        recipient=None,
        occurred_at=time_of(stamp) if stamp else origin.received_at,
        has_own_time=stamp is not None,
        received_at=origin.received_at,
        raw=raw,
    )


PROVIDER = Provider(
    name=NAME, verify=verify, split=split, parse=parse, probe=probe, secret_form=shared_key, horizon_hours=24
)
