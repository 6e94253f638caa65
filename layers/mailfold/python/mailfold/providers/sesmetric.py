"""SESMetric webhooks: one signed JSON event per request.

The public material shows the signature, `id` and `type`; the other fields are read under the names that SES-style
senders use, and an event that lacks its time is taken to have happened when it arrived.
"""

from collections.abc import Sequence

from mailfold.events import BounceClass, Event, EventType, Raw
from mailfold.fold import effect_of
from mailfold.providers.base import Origin, Provider, address_of, object_of, require, split_json, text_of, time_of
from mailfold.request import Request, Source
from mailfold.secret_forms import shared_key
from mailfold.signatures import Proof, check_fresh, prove_hmac

NAME = "sesmetric"

#: Every attempt is signed again, so only clocks and transit must fit.
TOLERANCE_S = 300

TYPES = {
    "send": EventType.PROCESSED,
    "delivery": EventType.DELIVERED,
    "delay": EventType.DEFERRED,
    "bounce": EventType.BOUNCED,
    "reject": EventType.DROPPED,
    "open": EventType.OPENED,
    "click": EventType.CLICKED,
    "complaint": EventType.COMPLAINED,
    "unsubscribe": EventType.UNSUBSCRIBED,
    "resubscribe": EventType.RESUBSCRIBED,
}

BOUNCE_CLASSES = {
    "permanent": BounceClass.HARD,
    "hard": BounceClass.HARD,
    "transient": BounceClass.SOFT,
    "soft": BounceClass.SOFT,
}


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the hex HMAC-SHA256 over timestamp, a dot and the raw body."""
    stamp = request.header("x-sesmetric-timestamp")
    check_fresh(stamp, now=request.received_at, tolerance_s=TOLERANCE_S)
    return prove_hmac(
        secrets=secrets,
        message=(stamp.encode(), b".", request.body),
        signature=request.header("x-sesmetric-signature"),
    )


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate the one event."""
    kind = require(text_of(raw, "type"), "type")
    detail = {**raw, **object_of(raw, "data")}
    event_type = TYPES.get(kind, EventType.OTHER)
    bounce_type = text_of(detail, "bounce_type") if event_type is EventType.BOUNCED else None
    bounce_class = _bounce_class(bounce_type) if event_type is EventType.BOUNCED else None
    stamp = text_of(raw, "occurred_at", "timestamp", "created_at")
    return [
        Event(
            event_id=f"{NAME}:{require(text_of(raw, 'id'), 'id')}",
            source=origin.source.name,
            provider=NAME,
            kind="/".join(filter(None, (kind, bounce_type))),
            type=event_type,
            bounce_class=bounce_class,
            effect=effect_of(event_type, bounce_class),
            message_id=text_of(detail, "message_id"),
            recipient=address_of(text_of(detail, "recipient", "email")),
            occurred_at=time_of(stamp) if stamp else origin.received_at,
            has_own_time=stamp is not None,
            received_at=origin.received_at,
            reason=text_of(detail, "reason", "diagnostic"),
            raw=raw,
        )
    ]


def _bounce_class(bounce_type: str | None) -> BounceClass:
    return BOUNCE_CLASSES.get((bounce_type or "").lower(), BounceClass.UNKNOWN)


PROVIDER = Provider(name=NAME, verify=verify, split=split_json, parse=parse, secret_form=shared_key, horizon_hours=72)
