"""SendGrid (Twilio) Event Webhook."""

from collections.abc import Sequence

from mailfold.errors import UnparseableEvent
from mailfold.events import BounceClass, Effect, Event, EventType, Raw, digest
from mailfold.fold import effect_of
from mailfold.providers.base import Origin, Provider, address_of, require, split_json, text_of, time_of
from mailfold.request import Request, Source
from mailfold.secret_forms import credential, public_key_of
from mailfold.signatures import CREDENTIALS, Proof, check_fresh, prove_credential, prove_ecdsa

NAME = "sendgrid"

#: SendGrid retries for 24 h and does not say whether a retry is signed again; the rest is for clocks and slow attempts.
TOLERANCE_S = 26 * 3600

# https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event
TYPES = {
    "processed": EventType.PROCESSED,
    "deferred": EventType.DEFERRED,
    "delivered": EventType.DELIVERED,
    "bounce": EventType.BOUNCED,
    "dropped": EventType.DROPPED,
    "open": EventType.OPENED,
    "click": EventType.CLICKED,
    "spamreport": EventType.COMPLAINED,
    "unsubscribe": EventType.UNSUBSCRIBED,
    "group_unsubscribe": EventType.UNSUBSCRIBED,
    "group_resubscribe": EventType.RESUBSCRIBED,
}

# A block refuses the message, not the address:
# https://www.twilio.com/docs/sendgrid/ui/sending-email/bounces-and-blocks
BOUNCE_CLASSES = {"bounce": BounceClass.HARD, "blocked": BounceClass.SOFT}
STATUS_CLASSES = {"5": BounceClass.HARD, "4": BounceClass.SOFT}

#: Bounces that the content or the sender's standing brought about.
MESSAGE_CLASSIFICATIONS = {"Content", "Reputation", "Frequency/Volume"}

#: Drops that tell of an address which SendGrid itself has stopped; other drops blame the message or the account.
STOPPING_DROPS = ("bounced address", "unsubscribed address", "spam reporting address", "invalid")

#: Redelivered at times under a new sg_event_id (sendgrid-nodejs#1435), hence identified by what they say.
DELIVERY_KINDS = {"processed", "deferred", "delivered", "bounce", "dropped"}
#: Identical but for sg_event_id when they fall into one second, hence identified by it alone.
ENGAGEMENT_KINDS = {"open", "click"}
#: What tells one delivery event from another of the same message, recipient and kind.
FACTS = ("timestamp", "attempt", "status", "reason", "response", "asm_group_id")


def verify(request: Request, source: Source, public_keys: Sequence[str]) -> Proof:
    """Check the ECDSA signature over timestamp and raw body, the trailing CR LF included.

    A source whose secrets are credentials (``basic:…``, ``bearer:…`` for OAuth) has a webhook that does not sign.
    """
    if all(key.startswith(CREDENTIALS) for key in public_keys):
        return prove_credential(secrets=public_keys, headers=request.headers)
    stamp = request.header("x-twilio-email-event-webhook-timestamp")
    check_fresh(stamp, now=request.received_at, tolerance_s=TOLERANCE_S)
    return prove_ecdsa(
        public_keys=public_keys,
        message=(stamp.encode(), request.body),
        signature=request.header("x-twilio-email-event-webhook-signature"),
    )


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate one event of the array."""
    kind = require(text_of(raw, "event"), "event")
    recipient = address_of(text_of(raw, "email"))
    event_type = TYPES.get(kind, EventType.OTHER)
    if event_type is not EventType.OTHER:
        require(recipient, "email")
    bounce_class = _bounce_class(raw) if event_type is EventType.BOUNCED else None
    return [
        Event(
            event_id=f"{NAME}:{_identity(raw, kind, recipient)}",
            source=origin.source.name,
            provider=NAME,
            kind=_full_kind(raw) if kind == "bounce" else kind,
            type=event_type,
            bounce_class=bounce_class,
            effect=_effect(raw, event_type, bounce_class),
            scope=_scope(raw, kind),
            message_id=_message_id(raw),
            recipient=recipient,
            occurred_at=time_of(raw.get("timestamp")),
            received_at=origin.received_at,
            reason=text_of(raw, "reason", "response"),
            message_fault=event_type is EventType.BOUNCED and _blames_message(raw),
            machine=raw.get("sg_machine_open") is True,
            raw=raw,
        )
    ]


def _full_kind(bounce: Raw) -> str:
    kind = text_of(bounce, "type")
    return f"bounce/{kind}" if kind else "bounce"


def _identity(raw: Raw, kind: str, recipient: str | None) -> str:
    native = text_of(raw, "sg_event_id")
    if kind not in DELIVERY_KINDS and native:
        return native
    if kind in ENGAGEMENT_KINDS:
        raise UnparseableEvent("no sg_event_id, without which two honest clicks look like one")
    message = text_of(raw, "sg_message_id", "smtp-id") or ""
    return digest(kind, message, recipient or "", *[text_of(raw, fact) or "" for fact in FACTS])


def _message_id(raw: Raw) -> str | None:
    # The send API's X-Message-Id is the part before the first dot; what follows names SendGrid's own machines.
    full = text_of(raw, "sg_message_id")
    return full.split(".", 1)[0] if full else None


def _bounce_class(raw: Raw) -> BounceClass:
    by_type = BOUNCE_CLASSES.get(text_of(raw, "type") or "")
    by_status = STATUS_CLASSES.get((text_of(raw, "status") or "")[:1])
    return by_type or by_status or BounceClass.UNKNOWN


def _blames_message(raw: Raw) -> bool:
    return text_of(raw, "type") == "blocked" or text_of(raw, "bounce_classification") in MESSAGE_CLASSIFICATIONS


def _effect(raw: Raw, event_type: EventType, bounce_class: BounceClass | None) -> Effect | None:
    if event_type is EventType.DROPPED:
        reason = (text_of(raw, "reason") or "").lower()
        return Effect.SUPPRESS if reason in STOPPING_DROPS else None
    return effect_of(event_type, bounce_class)


def _scope(raw: Raw, kind: str) -> str:
    group = text_of(raw, "asm_group_id")
    return f"group:{group}" if group and kind.startswith("group_") else ""


def secret_form(secret: str) -> str | None:
    """Judge a public key as SendGrid shows it, or a credential for a webhook that does not sign."""
    if secret.startswith(CREDENTIALS):
        return credential(secret)
    if "-----BEGIN" in secret:
        return "has BEGIN and END lines: SendGrid's key is the base64 between them"
    known = getattr(getattr(public_key_of(secret), "curve", None), "name", "") == "secp256r1"
    return None if known else "is no public key of SendGrid's signed event webhook, nor a credential"


PROVIDER = Provider(name=NAME, verify=verify, split=split_json, parse=parse, secret_form=secret_form, horizon_hours=24)
