"""Mailtrap webhooks: signed batches of events."""

from collections.abc import Sequence

from mailfold.events import BounceClass, Effect, Event, EventType, Raw
from mailfold.fold import effect_of
from mailfold.providers.base import Origin, Provider, address_of, require, split_inside, text_of, time_of
from mailfold.request import Request, Source
from mailfold.secret_forms import shared_key
from mailfold.signatures import Proof, prove_hmac

NAME = "mailtrap"

# https://docs.mailtrap.io/email-api-smtp/advanced/webhooks
TYPES = {
    "delivery": EventType.DELIVERED,
    "open": EventType.OPENED,
    "click": EventType.CLICKED,
    "bounce": EventType.BOUNCED,
    "soft bounce": EventType.BOUNCED,
    "spam": EventType.COMPLAINED,
    "unsubscribe": EventType.UNSUBSCRIBED,
    # Not sent, because the address is on Mailtrap's suppression list.
    "reject": EventType.DROPPED,
    # Held back, because the account or its sending is under review: nothing of it concerns the address.
    "suspension": EventType.DEFERRED,
}

BOUNCE_CLASSES = {"bounce": BounceClass.HARD, "soft bounce": BounceClass.SOFT}


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the hex HMAC-SHA256 over the raw body."""
    return prove_hmac(secrets=secrets, message=(request.body,), signature=request.header("mailtrap-signature"))


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate one event of the batch."""
    kind = require(text_of(raw, "event"), "event")
    event_type = TYPES.get(kind, EventType.OTHER)
    bounce_class = BOUNCE_CLASSES.get(kind)
    return [
        Event(
            event_id=f"{NAME}:{require(text_of(raw, 'event_id'), 'event_id')}",
            source=origin.source.name,
            provider=NAME,
            kind=kind,
            type=event_type,
            bounce_class=bounce_class,
            effect=Effect.SUPPRESS if kind == "reject" else effect_of(event_type, bounce_class),
            message_id=text_of(raw, "message_id"),
            recipient=address_of(text_of(raw, "email")),
            occurred_at=time_of(raw.get("timestamp")),
            received_at=origin.received_at,
            reason=text_of(raw, "response", "reason", "bounce_category"),
            raw=raw,
        )
    ]


PROVIDER = Provider(
    name=NAME, verify=verify, split=split_inside("events"), parse=parse, secret_form=shared_key, horizon_hours=4
)
