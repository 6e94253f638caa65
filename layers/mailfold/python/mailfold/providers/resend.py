"""Resend, which sends through Svix."""

from collections.abc import Sequence

from mailfold.events import BounceClass, Effect, Event, EventType, Raw
from mailfold.fold import effect_of
from mailfold.providers.base import (
    Origin,
    Provider,
    address_of,
    object_of,
    require,
    split_json,
    text_of,
    texts_of,
    time_of,
)
from mailfold.request import Request, Source
from mailfold.secret_forms import standard_webhooks
from mailfold.signatures import Proof, check_fresh
from mailfold.standard_webhook import prove_standard_webhook

NAME = "resend"

#: Svix signs every attempt again; Resend's own libraries use the same window.
TOLERANCE_S = 300

#: Svix's own names and those of the specification it became.
ID_HEADERS = ("svix-id", "webhook-id")

# https://resend.com/docs/dashboard/webhooks/event-types
TYPES = {
    "email.scheduled": EventType.PROCESSED,
    "email.sent": EventType.PROCESSED,
    "email.delivered": EventType.DELIVERED,
    "email.delivery_delayed": EventType.DEFERRED,
    "email.bounced": EventType.BOUNCED,
    "email.suppressed": EventType.DROPPED,
    "email.failed": EventType.DROPPED,
    "email.opened": EventType.OPENED,
    "email.clicked": EventType.CLICKED,
    "email.complained": EventType.COMPLAINED,
    "suppression.added": EventType.DROPPED,
    "suppression.removed": EventType.RESUBSCRIBED,
}

BOUNCE_CLASSES = {
    "Permanent": BounceClass.HARD,
    "Transient": BounceClass.SOFT,
    "Undetermined": BounceClass.UNKNOWN,
}

#: Bounces that another message to the same address would not have met.
MESSAGE_FAULTS = {"MessageTooLarge", "ContentRejected", "AttachmentRejected"}

#: Never sent: the address was on a suppression list already.
NEVER_SENT = {"Suppressed", "OnAccountSuppressionList"}
#: These tell of an address; `email.failed` tells of a quota, a key or a domain.
STOPPING_KINDS = {"email.suppressed", "suppression.added"}


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check any one of the Svix signatures over id, timestamp and body."""
    brand = "svix" if "svix-id" in request.headers else "webhook"
    stamp = request.header(f"{brand}-timestamp")
    check_fresh(stamp, now=request.received_at, tolerance_s=TOLERANCE_S)
    return prove_standard_webhook(
        secrets=secrets,
        message_id=request.header(f"{brand}-id"),
        stamp=stamp,
        body=request.body,
        signatures=request.header(f"{brand}-signature"),
    )


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate the one event; its id is only in the header."""
    kind = require(text_of(raw, "type"), "type")
    data = object_of(raw, "data")
    bounce = object_of(data, "bounce")
    event_type, bounce_class, effect = _meaning(kind, data, bounce)
    native = next((origin.headers[name] for name in ID_HEADERS if origin.headers.get(name)), None)
    return [
        Event(
            event_id=f"{NAME}:{require(native, 'svix-id')}",
            source=origin.source.name,
            provider=NAME,
            kind="/".join(filter(None, (kind, text_of(bounce, "type"), text_of(bounce, "subType")))),
            type=event_type,
            bounce_class=bounce_class,
            effect=effect,
            message_id=text_of(data, "email_id"),
            recipient=_recipient(data),
            occurred_at=time_of(raw.get("created_at")),
            received_at=origin.received_at,
            reason=_reason(data, bounce),
            message_fault=text_of(bounce, "subType") in MESSAGE_FAULTS,
            raw=raw,
        )
    ]


def _meaning(kind: str, data: Raw, bounce: Raw) -> tuple[EventType, BounceClass | None, Effect | None]:
    event_type = TYPES.get(kind, EventType.OTHER)
    if kind == "contact.updated" and data.get("unsubscribed") is True:
        return EventType.UNSUBSCRIBED, None, Effect.SUPPRESS
    if event_type is EventType.BOUNCED and text_of(bounce, "subType") in NEVER_SENT:
        return EventType.DROPPED, None, Effect.SUPPRESS
    if event_type is EventType.BOUNCED:
        # Payloads from before the field existed were sent for permanent bounces only.
        bounce_class = BOUNCE_CLASSES.get(text_of(bounce, "type") or "Permanent", BounceClass.UNKNOWN)
        return event_type, bounce_class, effect_of(event_type, bounce_class)
    return event_type, None, Effect.SUPPRESS if kind in STOPPING_KINDS else effect_of(event_type)


def _recipient(data: Raw) -> str | None:
    # Of several recipients Resend does not say which one an event is about.
    listed = texts_of(data, "to")
    return address_of(listed[0] if len(listed) == 1 else text_of(data, "email"))


def _reason(data: Raw, bounce: Raw) -> str | None:
    diagnostics = texts_of(bounce, "diagnosticCode")
    failed = text_of(object_of(data, "failed"), "reason")
    return diagnostics[0] if diagnostics else text_of(bounce, "message") or failed or text_of(data, "origin")


PROVIDER = Provider(
    name=NAME,
    verify=verify,
    split=split_json,
    parse=parse,
    headers=ID_HEADERS,
    secret_form=standard_webhooks("whsec_"),
    horizon_hours=28,
)
