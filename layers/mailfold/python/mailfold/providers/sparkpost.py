"""SparkPost (Bird) webhooks: batches of several classes of events, proven by a credential."""

from collections.abc import Sequence

from mailfold.errors import MalformedPayload, UnparseableEvent
from mailfold.events import BounceClass, Effect, Event, EventType, Raw
from mailfold.fold import effect_of
from mailfold.providers.base import (
    Origin,
    Provider,
    address_of,
    canonical_digest,
    require,
    split_json,
    text_of,
    time_of,
)
from mailfold.request import Request, Source
from mailfold.secret_forms import credential
from mailfold.signatures import Proof, prove_credential

NAME = "sparkpost"

# https://developers.sparkpost.com/api/webhooks/#header-webhook-event-types
TYPES = {
    "injection": EventType.PROCESSED,
    "delivery": EventType.DELIVERED,
    "delay": EventType.DEFERRED,
    "bounce": EventType.BOUNCED,
    "out_of_band": EventType.BOUNCED,
    "policy_rejection": EventType.DROPPED,
    "generation_rejection": EventType.DROPPED,
    "generation_failure": EventType.DROPPED,
    "open": EventType.OPENED,
    "amp_open": EventType.OPENED,
    "initial_open": EventType.OPENED,
    "amp_initial_open": EventType.OPENED,
    "click": EventType.CLICKED,
    "amp_click": EventType.CLICKED,
    "spam_complaint": EventType.COMPLAINED,
    "list_unsubscribe": EventType.UNSUBSCRIBED,
    "link_unsubscribe": EventType.UNSUBSCRIBED,
}

# https://support.sparkpost.com/docs/deliverability/bounce-classification-codes
HARD_CLASSES = {"10", "30", "90"}
SOFT_CLASSES = {"20", "21", "22", "23", "24", "40", "50", "51", "52", "53", "54", "70"}
#: Too large, or refused for its content, its attachment, its sender or its way.
MESSAGE_CLASSES = {"23", "50", "51", "52", "53", "54"}
#: Refused by SparkPost itself: the recipient is on its suppression list, or the account's policy forbids it.
ADMIN_CLASS = "25"
#: Auto-replies, subscribe requests and challenges: mail came back, but nothing failed.
REPLY_CLASSES = {"60", "80", "100"}


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the credential that the webhook's settings in SparkPost make it send."""
    return prove_credential(secrets=secrets, headers=request.headers)


def split(body: bytes, source: Source) -> list[Raw]:
    """Return the events; a batch that only asks whether anybody is there holds an empty one."""
    items = split_json(body, source)
    if items and not any(_wrapped(item) for item in items):
        raise MalformedPayload("the body is JSON but no batch of events")
    # What is no event goes on as it is: parse sets it aside, and the events beside it are taken.
    return [item["msys"] if _wrapped(item) else item for item in items if item.get("msys") != {}]


def _wrapped(item: Raw) -> bool:
    return isinstance(item.get("msys"), dict)


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate one event out of its class."""
    detail = next((value for value in raw.values() if isinstance(value, dict)), None)
    if detail is None:
        raise UnparseableEvent("no event class")
    kind = require(text_of(detail, "type"), "type")
    event_type, bounce_class, effect = _meaning(kind, text_of(detail, "bounce_class"))
    return [
        Event(
            event_id=f"{NAME}:{text_of(detail, 'event_id') or canonical_digest(raw)}",
            source=origin.source.name,
            provider=NAME,
            kind="/".join(filter(None, (kind, text_of(detail, "bounce_class")))),
            type=event_type,
            bounce_class=bounce_class,
            effect=effect,
            message_id=text_of(detail, "transmission_id", "message_id"),
            recipient=address_of(text_of(detail, "rcpt_to", "raw_rcpt_to")),
            occurred_at=time_of(detail.get("timestamp")),
            received_at=origin.received_at,
            reason=text_of(detail, "reason", "error_message"),
            message_fault=text_of(detail, "bounce_class") in MESSAGE_CLASSES,
            raw=raw,
        )
    ]


def _meaning(kind: str, code: str | None) -> tuple[EventType, BounceClass | None, Effect | None]:
    event_type = TYPES.get(kind, EventType.OTHER)
    if event_type is not EventType.BOUNCED:
        return event_type, None, effect_of(event_type)
    if code == ADMIN_CLASS:
        return EventType.DROPPED, None, None
    if code in REPLY_CLASSES:
        return EventType.OTHER, None, None
    bounce_class = (
        BounceClass.HARD if code in HARD_CLASSES else BounceClass.SOFT if code in SOFT_CLASSES else BounceClass.UNKNOWN
    )
    return event_type, bounce_class, effect_of(event_type, bounce_class)


PROVIDER = Provider(name=NAME, verify=verify, split=split, parse=parse, secret_form=credential, horizon_hours=8)
