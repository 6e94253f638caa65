"""Postmark webhooks: one JSON object per request, proven by a credential since Postmark signs nothing."""

from collections.abc import Sequence

from mailfold.events import BounceClass, Effect, Event, EventType, Raw, digest
from mailfold.providers.base import Origin, Provider, address_of, object_of, require, split_json, text_of, time_of
from mailfold.request import Request, Source
from mailfold.secret_forms import credential
from mailfold.signatures import Proof, prove_credential

NAME = "postmark"

#: The same on every retry of one event.
TRACE_HEADER = "x-pm-webhook-trace-id"

#: Stands for "none" where an address was stopped or let in again manually.
NO_MESSAGE = "00000000-0000-0000-0000-000000000000"

Meaning = tuple[EventType, BounceClass | None, Effect | None]

_SOFT: Meaning = (EventType.BOUNCED, BounceClass.SOFT, None)
_DEFERRED: Meaning = (EventType.DEFERRED, None, None)
_STOPPED: Meaning = (EventType.DROPPED, None, Effect.SUPPRESS)
_DROPPED: Meaning = (EventType.DROPPED, None, None)
_OTHER: Meaning = (EventType.OTHER, None, None)
_HARD: Meaning = (EventType.BOUNCED, BounceClass.HARD, Effect.SUPPRESS)
_COMPLAINED: Meaning = (EventType.COMPLAINED, None, Effect.SUPPRESS)
_LEFT: Meaning = (EventType.UNSUBSCRIBED, None, Effect.SUPPRESS)
_JOINED: Meaning = (EventType.RESUBSCRIBED, None, Effect.LIFT)

# By the word, not by TypeCode, which samples and documents give wrongly:
# https://postmarkapp.com/developer/api/bounce-api#bounce-types
BOUNCES: dict[str, Meaning] = {
    "HardBounce": _HARD,
    "SoftBounce": _SOFT,
    "Transient": _DEFERRED,
    "DnsError": _DEFERRED,
    "Blocked": _SOFT,
    "DMARCPolicy": _SOFT,
    "SpamNotification": _SOFT,
    "VirusNotification": _SOFT,
    "BadEmailAddress": _STOPPED,
    "ManuallyDeactivated": _STOPPED,
    "Unconfirmed": _STOPPED,
    "SpamComplaint": _COMPLAINED,
    "Unsubscribe": _LEFT,
    "Subscribe": _JOINED,
    "SMTPApiError": _DROPPED,
    "TemplateRenderingFailed": _DROPPED,
    "InboundError": _OTHER,
    "AutoResponder": _OTHER,
    "AddressChange": _OTHER,
    "ChallengeVerification": _OTHER,
    "OpenRelayTest": _OTHER,
    "Unknown": _OTHER,
}

#: Bounces that the content, the policy of the sender's domain or its standing brought about.
MESSAGE_FAULTS = {"Blocked", "DMARCPolicy", "SpamNotification", "VirusNotification"}

# https://postmarkapp.com/developer/webhooks/subscription-change-webhook
SUPPRESSIONS: dict[str, Meaning] = {
    "ManualSuppression": _LEFT,
    "HardBounce": _HARD,
    "SpamComplaint": _COMPLAINED,
}

RECORDS: dict[str, Meaning] = {
    "Delivery": (EventType.DELIVERED, None, None),
    "Open": (EventType.OPENED, None, None),
    "Click": (EventType.CLICKED, None, None),
    "SpamComplaint": _COMPLAINED,
}

#: What tells two events of one record type apart; the raw text of a time, whose seventh digit counts.
IDENTITIES: dict[str, tuple[str, ...]] = {
    "Delivery": ("MessageID", "DeliveredAt"),
    "Open": ("MessageID", "ReceivedAt", "UserAgent"),
    "Click": ("MessageID", "ReceivedAt", "UserAgent", "OriginalLink", "ClickLocation"),
    "SubscriptionChange": ("ServerID", "MessageStream", "ChangedAt", "SuppressSending", "SuppressionReason"),
}


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the credential that the webhook's settings in Postmark make it send."""
    return prove_credential(secrets=secrets, headers=request.headers)


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate the one event."""
    record = require(text_of(raw, "RecordType"), "RecordType")
    event_type, bounce_class, effect = _meaning(record, raw)
    recipient = address_of(text_of(raw, "Recipient", "Email"))
    return [
        Event(
            event_id=f"{NAME}:{_identity(record, raw, recipient, origin)}",
            source=origin.source.name,
            provider=NAME,
            kind="/".join(filter(None, (record, text_of(raw, "Type", "SuppressionReason")))),
            type=event_type,
            bounce_class=bounce_class,
            effect=effect,
            scope=_scope(record, raw),
            message_id=_message_id(raw),
            recipient=recipient,
            occurred_at=time_of(text_of(raw, "DeliveredAt", "BouncedAt", "ReceivedAt", "ChangedAt")),
            received_at=origin.received_at,
            reason=text_of(raw, "Details", "Description", "SuppressionReason"),
            message_fault=text_of(raw, "Type") in MESSAGE_FAULTS,
            raw=raw,
        )
    ]


def _meaning(record: str, raw: Raw) -> Meaning:
    if record == "Bounce":
        meaning = BOUNCES.get(text_of(raw, "Type") or "", _OTHER)
        # Postmark's own verdict: it has stopped the address, whatever the bounce is called.
        return (meaning[0], meaning[1], Effect.SUPPRESS) if raw.get("Inactive") is True else meaning
    if record == "SubscriptionChange":
        if raw.get("SuppressSending") is False:
            return _JOINED
        return SUPPRESSIONS.get(text_of(raw, "SuppressionReason") or "", _LEFT)
    return RECORDS.get(record, _OTHER)


def _identity(record: str, raw: Raw, recipient: str | None, origin: Origin) -> str:
    native = text_of(raw, "ID")
    if record in {"Bounce", "SpamComplaint"} and native:
        return f"{native}:{text_of(raw, 'MessageID') or ''}"
    trace = origin.headers.get(TRACE_HEADER)
    if trace:
        return digest(record, trace)
    facts = IDENTITIES.get(record, ("MessageID", "ReceivedAt"))
    address = text_of(object_of(raw, "Geo"), "IP") or ""
    return digest(record, recipient or "", address, *(str(raw.get(fact, "")) for fact in facts))


def _message_id(raw: Raw) -> str | None:
    found = text_of(raw, "MessageID")
    return None if found == NO_MESSAGE else found


def _scope(record: str, raw: Raw) -> str:
    stream = text_of(raw, "MessageStream")
    return f"stream:{stream}" if stream and record == "SubscriptionChange" else ""


PROVIDER = Provider(
    name=NAME,
    verify=verify,
    split=split_json,
    parse=parse,
    headers=(TRACE_HEADER,),
    secret_form=credential,
    horizon_hours=11,
)
