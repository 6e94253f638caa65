"""Mailjet event callbacks: an object or an array, proven by basic authentication."""

from collections.abc import Sequence

from mailfold.events import BounceClass, Effect, Event, EventType, Raw, digest
from mailfold.fold import effect_of
from mailfold.providers.base import Origin, Provider, address_of, require, split_json, text_of, time_of
from mailfold.request import Request, Source
from mailfold.secret_forms import credential
from mailfold.signatures import Proof, prove_credential

NAME = "mailjet"

# https://dev.mailjet.com/email/guides/webhooks/
TYPES = {
    # Accepted by the recipient's server, not merely sent off.
    "sent": EventType.DELIVERED,
    "open": EventType.OPENED,
    "click": EventType.CLICKED,
    "bounce": EventType.BOUNCED,
    "blocked": EventType.DROPPED,
    "spam": EventType.COMPLAINED,
    "unsub": EventType.UNSUBSCRIBED,
}

#: Blocks that tell of the address; others tell of a campaign, the content or Mailjet's own systems.
STOPPING_BLOCKS = {"preblocked", "blacklisted", "spam reporter", "user unknown"}

#: What a bounce is related to when another message might have arrived.
MESSAGE_FAULTS = {"content", "spam", "mailjet", "system"}

#: There is no event id: what else could tell two events of one second apart.
IDENTITY = ("MessageID", "time", "url", "ip", "agent", "error", "mj_list_id")


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the user and password in the callback's URL."""
    return prove_credential(secrets=secrets, headers=request.headers)


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate one event."""
    kind = require(text_of(raw, "event"), "event")
    recipient = address_of(text_of(raw, "email"))
    event_type, bounce_class, effect = _meaning(kind, raw)
    return [
        Event(
            event_id=f"{NAME}:{digest(kind, recipient or '', *(text_of(raw, fact) or '' for fact in IDENTITY))}",
            source=origin.source.name,
            provider=NAME,
            kind="/".join(filter(None, (kind, text_of(raw, "error")))),
            type=event_type,
            bounce_class=bounce_class,
            effect=effect,
            scope=_scope(kind, raw),
            message_id=text_of(raw, "MessageID"),
            recipient=recipient,
            occurred_at=time_of(raw.get("time")),
            received_at=origin.received_at,
            reason=text_of(raw, "comment", "error", "smtp_reply"),
            message_fault=kind == "bounce" and text_of(raw, "error_related_to") in MESSAGE_FAULTS,
            raw=raw,
        )
    ]


def _meaning(kind: str, raw: Raw) -> tuple[EventType, BounceClass | None, Effect | None]:
    event_type = TYPES.get(kind, EventType.OTHER)
    error = (text_of(raw, "error") or "").lower()
    if kind == "blocked":
        return event_type, None, Effect.SUPPRESS if error in STOPPING_BLOCKS else None
    if kind != "bounce":
        return event_type, None, effect_of(event_type)
    if raw.get("hard_bounce") is True:
        return event_type, BounceClass.HARD, Effect.SUPPRESS
    # Mailjet's own verdict: it will not send to this address any more.
    effect = Effect.SUPPRESS if raw.get("blocked") is True else None
    if error == "greylisted":
        return EventType.DEFERRED, None, effect
    return event_type, BounceClass.SOFT, effect


def _scope(kind: str, raw: Raw) -> str:
    contact_list = text_of(raw, "mj_list_id")
    return f"list:{contact_list}" if kind == "unsub" and contact_list and contact_list != "0" else ""


PROVIDER = Provider(name=NAME, verify=verify, split=split_json, parse=parse, secret_form=credential, horizon_hours=24)
