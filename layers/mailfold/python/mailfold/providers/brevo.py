"""Brevo (once Sendinblue) webhooks: proven by a credential, and thrown away by Brevo on any 5xx."""

from collections.abc import Sequence

from mailfold.events import BounceClass, Effect, Event, EventType, Raw, digest
from mailfold.fold import effect_of
from mailfold.jsontext import loads
from mailfold.providers.base import Origin, Provider, address_of, as_events, require, text_of, time_of
from mailfold.request import Request, Source
from mailfold.secret_forms import credential
from mailfold.signatures import Proof, prove_credential

NAME = "brevo"

# https://developers.brevo.com/docs/transactional-webhooks; both spellings of some occur.
TYPES = {
    "request": EventType.PROCESSED,
    "delivered": EventType.DELIVERED,
    "deferred": EventType.DEFERRED,
    "soft_bounce": EventType.BOUNCED,
    "hard_bounce": EventType.BOUNCED,
    "invalid_email": EventType.DROPPED,
    "blocked": EventType.DROPPED,
    "error": EventType.DROPPED,
    "opened": EventType.OPENED,
    "unique_opened": EventType.OPENED,
    "proxy_open": EventType.OPENED,
    "unique_proxy_open": EventType.OPENED,
    "click": EventType.CLICKED,
    "spam": EventType.COMPLAINED,
    "complaint": EventType.COMPLAINED,
    "unsubscribed": EventType.UNSUBSCRIBED,
    "unsubscribe": EventType.UNSUBSCRIBED,
}

BOUNCE_CLASSES = {"soft_bounce": BounceClass.SOFT, "hard_bounce": BounceClass.HARD}
#: Drops that tell of the address; `error` tells of the message.
STOPPING_DROPS = {"invalid_email", "blocked"}
MACHINE_KINDS = {"proxy_open", "unique_proxy_open"}

#: Where batched webhooks may keep their events.
BATCH_NAMES = ("events", "items")


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the credential that the webhook's settings in Brevo make it send."""
    return prove_credential(secrets=secrets, headers=request.headers)


def split(body: bytes, source: Source) -> list[Raw]:
    """Cut an object, an array, or an object that holds an array."""
    parsed = loads(body)
    if isinstance(parsed, dict):
        parsed = next((parsed[name] for name in BATCH_NAMES if isinstance(parsed.get(name), list)), parsed)
    return as_events(parsed)


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate one event."""
    kind = require(text_of(raw, "event"), "event")
    recipient = address_of(text_of(raw, "email"))
    event_type = TYPES.get(kind, EventType.OTHER)
    bounce_class = BOUNCE_CLASSES.get(kind)
    # `date` is in the account's time zone and does not say which; one vendor sample misspells ts_epoch.
    stamp = text_of(raw, "ts_epoch", "s_epoch", "ts_event", "ts")
    message_id = text_of(raw, "message-id")
    # `id` is the webhook's, the same on all events.
    facts = (message_id, recipient, stamp, text_of(raw, "link"))
    return [
        Event(
            event_id=f"{NAME}:{digest(kind, *(fact or '' for fact in facts))}",
            source=origin.source.name,
            provider=NAME,
            kind=kind,
            type=event_type,
            bounce_class=bounce_class,
            effect=Effect.SUPPRESS if kind in STOPPING_DROPS else effect_of(event_type, bounce_class),
            message_id=message_id.strip("<>") if message_id else None,
            recipient=recipient,
            occurred_at=time_of(stamp),
            received_at=origin.received_at,
            reason=text_of(raw, "reason"),
            machine=kind in MACHINE_KINDS,
            raw=raw,
        )
    ]


PROVIDER = Provider(
    name=NAME, verify=verify, split=split, parse=parse, busy_status=429, secret_form=credential, horizon_hours=12
)
