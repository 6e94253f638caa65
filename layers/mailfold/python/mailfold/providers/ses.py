"""Amazon SES events, as SNS or EventBridge puts them on the queue, or as SNS posts them to the door."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from mailfold.certificates import check_certificate
from mailfold.envelope import Envelope, hash_events
from mailfold.errors import MalformedPayload, NotAnEnvelope, UnparseableEvent, VerificationError
from mailfold.events import BounceClass, Effect, Event, EventType, Raw, digest
from mailfold.fold import effect_of
from mailfold.jsontext import dumps, loads
from mailfold.providers.base import (
    Origin,
    Provider,
    address_of,
    object_of,
    objects_of,
    require,
    split_json,
    text_of,
    texts_of,
    time_of,
)
from mailfold.request import Request, Source
from mailfold.signatures import Proof, prove_rsa

NAME = "ses"
_TOPIC_ARN = re.compile(r"arn:aws[\w-]*:sns:[\w-]+:\d{12}:[\w.-]+", re.ASCII)

# https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html
# https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html
TYPES = {
    "Send": EventType.PROCESSED,
    "Delivery": EventType.DELIVERED,
    "DeliveryDelay": EventType.DEFERRED,
    "Bounce": EventType.BOUNCED,
    "Complaint": EventType.COMPLAINED,
    "Reject": EventType.DROPPED,
    "Rendering Failure": EventType.DROPPED,
    "Open": EventType.OPENED,
    "Click": EventType.CLICKED,
    "Subscription": EventType.UNSUBSCRIBED,
}

#: Where a type keeps its own facts, when that is not the type with a small first letter.
DETAIL_NAMES = {"Rendering Failure": "failure"}

BOUNCE_CLASSES = {
    "Permanent": BounceClass.HARD,
    "Transient": BounceClass.SOFT,
    "Undetermined": BounceClass.UNKNOWN,
}

#: Bounces that another message to the same address would not have met.
MESSAGE_FAULTS = {"MessageTooLarge", "ContentRejected", "AttachmentRejected"}

#: SES did not even try: the address was on a suppression list already. The bounce or complaint is not a new one.
NEVER_SENT = {"Suppressed", "OnAccountSuppressionList"}

#: SNS repeats the stamp of the first attempt for at most an hour; the rest is for clocks.
TOLERANCE_S = 2 * 3600

# https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
SIGNED_FIELDS = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": _CONFIRMATION,
    "UnsubscribeConfirmation": _CONFIRMATION,
}
#: SNS leaves it out where the publisher gave none.
_OPTIONAL = {"Subject"}
SIGNATURE_ALGORITHMS = {"1": "sha1", "2": "sha256"}

_TOPIC = re.compile(r"arn:(?P<partition>aws|aws-cn|aws-us-gov):sns:(?P<region>[a-z]{2}(?:-[a-z]+)+-\d):\d{12}:[\w-]+")
_CERTIFICATE_PATH = re.compile(r"/SimpleNotificationService-[0-9a-f]{32}\.pem")

#: The recipient took the mail out of the spam folder.
PRAISE = "not-spam"

_SNS_ID = "x-amz-sns-message-id"
_VALIDATION = "Successfully validated SNS topic"


def unwrap(body: Mapping[str, Any], topics: Mapping[str, str], received_at: datetime) -> Envelope | None:
    """Recognise an SNS notification, an EventBridge event, or a bare SES record; None for anything else.

    Nothing is verified here: only the topic and the rule that the queue's policy names can have put it there.
    """
    if "TopicArn" in body and "Type" in body:
        return _unwrap_sns(body, topics, received_at)
    if body.get("source") == "aws.ses" and "detail-type" in body:
        record = object_of(body, "detail")
        return _envelope(_only_source(topics), f"eventbridge:{text_of(body, 'id')}", record, received_at, body, "id")
    if ("eventType" in body or "notificationType" in body) and "mail" in body:
        return _envelope(_only_source(topics), f"record:{hash_events(dumps(body))}", body, received_at, {}, "")
    return None


def _unwrap_sns(body: Mapping[str, Any], topics: Mapping[str, str], received_at: datetime) -> Envelope:
    topic = str(body["TopicArn"])
    if topic not in topics:
        raise NotAnEnvelope("a notification of a topic that belongs to no source")
    if body["Type"] != "Notification":
        raise NotAnEnvelope(f"a {body['Type']} that somebody must answer manually")
    message = body.get("Message")
    claim = f"sns:{text_of(body, 'MessageId')}"
    if not isinstance(message, str):
        raise NotAnEnvelope("a notification without a message")
    if message.startswith(_VALIDATION):
        return _envelope(topics[topic], claim, None, received_at, body, "MessageId")
    try:
        record = loads(message)
    except MalformedPayload as exc:
        raise NotAnEnvelope("a notification whose message is not JSON") from exc
    if not isinstance(record, dict):
        raise NotAnEnvelope("a notification whose message is not an object")
    return _envelope(topics[topic], claim, record, received_at, body, "MessageId")


def _envelope(
    source: str, claim: str, record: Raw | None, received_at: datetime, wrapper: Mapping[str, Any], id_name: str
) -> Envelope:
    events = [] if record is None else [record]
    carried = text_of(wrapper, id_name)
    return Envelope(
        source=source,
        provider=NAME,
        claim_key=f"{source}:{claim}",
        request_hash=hash_events(dumps(events)),
        received_at=received_at,
        headers={_SNS_ID: carried} if carried else {},
        events=events,
    )


def _only_source(topics: Mapping[str, str]) -> str:
    sources = set(topics.values())
    if len(sources) != 1:
        raise NotAnEnvelope("an event without a topic, which could belong to several sources")
    return sources.pop()


def certificate_url(request: Request, topics: Sequence[str]) -> str:
    """Return where the signing certificate lies, if an admitted topic of the same region's SNS names it.

    What is returned is built here and not the sender's own text, so that one certificate has one address.
    """
    body = _sns_body(request)
    topic, url = _text(body, "TopicArn"), _text(body, "SigningCertURL")
    if topic not in topics or not _CERTIFICATE_PATH.fullmatch(path := _pinned(url, topic).path):
        raise VerificationError
    rebuilt = f"https://{_host(topic)}{path}"
    if rebuilt != url:
        raise VerificationError
    return rebuilt


def verify(request: Request, source: Source, topics: Sequence[str]) -> Proof:
    """Check the signature of an SNS message; the source's secrets are the topics that it may come from.

    The signature alone proves only that some account's SNS sent it: anybody can subscribe this URL to their topic.
    """
    body = _sns_body(request)
    kind, version, topic = _text(body, "Type"), _text(body, "SignatureVersion"), _text(body, "TopicArn")
    if topic not in topics or kind not in SIGNED_FIELDS or version not in SIGNATURE_ALGORITHMS:
        raise VerificationError
    if version == "1" and source.options.get("refuse_sha1") is True:
        raise VerificationError
    message = _string_to_sign(kind, body)
    if (request.header("x-amz-sns-message-type"), request.header(_SNS_ID)) != (kind, body["MessageId"]):
        raise VerificationError
    _check_published(body, request)
    check_certificate(request.certificate, names=_signer_names(topic), now=request.received_at)
    return prove_rsa(
        public_keys=[request.certificate],
        message=message,
        signature=_text(body, "Signature"),
        algorithm=SIGNATURE_ALGORITHMS[version],
    )


def confirm_url(request: Request) -> str | None:
    """Return the link that confirms the subscription of an admitted topic, on that topic's own SNS."""
    body = _sns_body(request)
    if body.get("Type") != "SubscriptionConfirmation":
        return None
    topic, url = _text(body, "TopicArn"), _text(body, "SubscribeURL")
    parts = _pinned(url, topic)
    if parts.path != "/" or parse_qs(parts.query).get("Action") != ["ConfirmSubscription"]:
        raise VerificationError
    if url != f"https://{_host(topic)}/?{parts.query}":
        raise VerificationError
    return url


def split(body: bytes, source: Source) -> list[Raw]:
    """Return the record inside a notification; confirmations and the validation message hold none."""
    notification = loads(body)
    if not isinstance(notification, dict) or notification.get("Type") != "Notification":
        return []
    message = text_of(notification, "Message") or ""
    return [] if message.startswith(_VALIDATION) else split_json(message.encode("utf-8", "surrogatepass"), source)


def _sns_body(request: Request) -> Raw:
    """Read the message; nothing of it is believed before the check."""
    try:
        body = loads(request.body)
    except MalformedPayload:
        raise VerificationError from None
    if not isinstance(body, dict):
        raise VerificationError
    return body


def _text(body: Raw, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise VerificationError
    return value


def _string_to_sign(kind: str, body: Raw) -> list[bytes]:
    """Return what SNS signs, which must be the string of this message and of no other.

    Names and values are only kept apart by line feeds. A value that is no text would be left out of it, and one with a
    line feed could hold the lines of another field; the message comes first, so that its own line feeds cannot.
    """
    fields = [name for name in SIGNED_FIELDS[kind] if name in body or name not in _OPTIONAL]
    values = {name: body.get(name) for name in fields}
    for name, value in values.items():
        if not isinstance(value, str) or ("\n" in value and name != "Message"):
            raise VerificationError
    return [f"{name}\n{value}\n".encode("utf-8", "surrogatepass") for name, value in values.items()]


def _host(topic: str) -> str:
    """Return the host of the SNS of a topic's own partition and region."""
    _, region, domain = _whereabouts(topic)
    return f"sns.{region}.{domain}"


def _signer_names(topic: str) -> set[str]:
    """Return the names that SNS's signing certificates have: one for all regions, or one of the region's own."""
    partition, region, domain = _whereabouts(topic)
    shared = {"sns-us-gov-west-1.amazonaws.com"} if partition == "aws-us-gov" else set()
    regional = {f"sns.{region}.{domain}", f"sns-{region}.{domain}", f"sns-signing.{region}.{domain}"}
    return {"sns.amazonaws.com", f"sns.{domain}"} | regional | shared


def _whereabouts(topic: str) -> tuple[str, str, str]:
    arn = _TOPIC.fullmatch(topic)
    if arn is None:
        raise VerificationError
    return arn["partition"], arn["region"], "amazonaws.com.cn" if arn["partition"] == "aws-cn" else "amazonaws.com"


def _pinned(url: str, topic: str) -> SplitResult:
    """Return the parts of a link, which must lead to the SNS of the topic's own partition and region."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise VerificationError from None
    if (parts.scheme, parts.netloc) != ("https", _host(topic)):
        raise VerificationError
    return parts


def _check_published(body: Raw, request: Request) -> None:
    try:
        published_at = time_of(body["Timestamp"])
    except UnparseableEvent:
        raise VerificationError from None
    if abs((request.received_at - published_at).total_seconds()) > TOLERANCE_S:
        raise VerificationError


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate one record into an event per recipient."""
    kind = require(text_of(raw, "eventType", "notificationType"), "eventType")
    detail = object_of(raw, DETAIL_NAMES.get(kind, kind[:1].lower() + kind[1:]))
    if kind == "Subscription":
        return _subscription(raw, detail, origin)
    read = _READERS.get(kind, _no_recipient)
    events = [
        _event(raw, origin, kind=kind, detail=detail, recipient=recipient, about=about)
        for recipient, about in read(raw, detail)
    ]
    if not events:
        raise UnparseableEvent(f"a {kind} without recipients")
    return events


def _event(raw: Raw, origin: Origin, *, kind: str, detail: Raw, recipient: str | None, about: Raw) -> Event:
    event_type, bounce_class, effect = _meaning(kind, detail, about)
    mail = object_of(raw, "mail")
    message_id = require(text_of(mail, "messageId"), "mail.messageId")
    words = (
        kind,
        text_of(detail, "bounceType", "complaintFeedbackType"),
        text_of(detail, "bounceSubType", "complaintSubType"),
    )
    return Event(
        event_id=f"{NAME}:{_identity(kind, message_id, detail, recipient, origin)}",
        source=origin.source.name,
        provider=NAME,
        kind="/".join(filter(None, words)),
        type=event_type,
        bounce_class=bounce_class,
        effect=effect,
        message_id=message_id,
        recipient=recipient,
        # Send, Reject and Rendering Failure state no time of their own; the send time is the same on every way here.
        occurred_at=time_of(detail.get("timestamp") or mail.get("timestamp")),
        received_at=origin.received_at,
        reason=_reason(detail, about),
        message_fault=text_of(detail, "bounceSubType") in MESSAGE_FAULTS,
        raw=raw,
    )


def _meaning(kind: str, detail: Raw, about: Raw) -> tuple[EventType, BounceClass | None, Effect | None]:
    subtype = text_of(detail, "bounceSubType", "complaintSubType")
    if subtype in NEVER_SENT:
        return EventType.DROPPED, None, Effect.SUPPRESS
    if kind == "Complaint" and text_of(detail, "complaintFeedbackType") == PRAISE:
        return EventType.OTHER, None, None
    event_type = TYPES.get(kind, EventType.OTHER)
    bounce_class = _bounce_class(detail, about) if event_type is EventType.BOUNCED else None
    return event_type, bounce_class, effect_of(event_type, bounce_class)


def _bounce_class(detail: Raw, about: Raw) -> BounceClass:
    stated = BOUNCE_CLASSES.get(text_of(detail, "bounceType") or "", BounceClass.UNKNOWN)
    # One bounceType covers all recipients of a record. A recipient's own 4.x.x contradicts "Permanent"; a 5.x.x under
    # "Transient" does not: SES reports full mailboxes that way and a false stop costs more than one more try.
    if stated is BounceClass.HARD and (text_of(about, "status") or "").startswith("4"):
        return BounceClass.SOFT
    return stated


def _identity(kind: str, message_id: str, detail: Raw, recipient: str | None, origin: Origin) -> str:
    if kind in {"Bounce", "Complaint"}:
        # The same under both producers of SES, feedback notifications and event publishing.
        return digest(kind, require(text_of(detail, "feedbackId"), "feedbackId"), recipient or "")
    if kind in {"Open", "Click"}:
        carried = origin.headers.get(_SNS_ID)
        if carried:
            return digest(kind, carried)
        facts = ("timestamp", "ipAddress", "userAgent", "link")
        return digest(kind, message_id, *(text_of(detail, fact) or "" for fact in facts))
    return digest(kind, message_id, recipient or "", text_of(detail, "timestamp") or "")


def _reason(detail: Raw, about: Raw) -> str | None:
    stated = ("reason", "errorMessage", "smtpResponse", "complaintFeedbackType", "delayType", "bounceSubType")
    return text_of(about, "diagnosticCode") or text_of(detail, *stated)


Recipients = list[tuple[str | None, Raw]]


def _listed(name: str) -> Callable[[Raw, Raw], Recipients]:
    def read(raw: Raw, detail: Raw) -> Recipients:
        return [(address_of(text_of(item, "emailAddress")), item) for item in objects_of(detail, name)]

    return read


def _delivered(raw: Raw, detail: Raw) -> Recipients:
    return [(address_of(address), {}) for address in texts_of(detail, "recipients")]


def _destination(raw: Raw, detail: Raw) -> Recipients:
    return [(address_of(address), {}) for address in texts_of(object_of(raw, "mail"), "destination")]


def _only_destination(raw: Raw, detail: Raw) -> Recipients:
    # SES does not say who of several recipients opened or clicked, so nobody is named.
    destination = _destination(raw, detail)
    return destination if len(destination) == 1 else [(None, {})]


def _no_recipient(raw: Raw, detail: Raw) -> Recipients:
    return [(None, {})]


_READERS: dict[str, Callable[[Raw, Raw], Recipients]] = {
    "Send": _destination,
    "Delivery": _delivered,
    "DeliveryDelay": _listed("delayedRecipients"),
    "Bounce": _listed("bouncedRecipients"),
    "Complaint": _listed("complainedRecipients"),
    "Reject": _destination,
    "Rendering Failure": _destination,
    "Open": _only_destination,
    "Click": _only_destination,
}


def _subscription(raw: Raw, detail: Raw, origin: Origin) -> list[Event]:
    """One event for the whole list where all of it is left or joined again, and one per topic that changed."""
    mail = object_of(raw, "mail")
    message_id = require(text_of(mail, "messageId"), "mail.messageId")
    contact_list = text_of(detail, "contactList") or ""
    stamp = text_of(detail, "timestamp") or ""
    events: list[Event] = []
    for scope, left in _preferences(contact_list, detail):
        event_type = EventType.UNSUBSCRIBED if left else EventType.RESUBSCRIBED
        change = (event_type, message_id, contact_list, stamp, scope)
        events.extend(
            Event(
                event_id=f"{NAME}:{digest('Subscription', *change, recipient or '')}",
                source=origin.source.name,
                provider=NAME,
                kind=f"Subscription/{event_type}",
                type=event_type,
                effect=effect_of(event_type),
                scope=scope,
                message_id=message_id,
                recipient=recipient,
                occurred_at=time_of(detail.get("timestamp")),
                received_at=origin.received_at,
                reason=text_of(detail, "source"),
                raw=raw,
            )
            for recipient, _ in _only_destination(raw, detail)
        )
    return events


def _preferences(contact_list: str, detail: Raw) -> list[tuple[str, bool]]:
    new, old = object_of(detail, "newTopicPreferences"), object_of(detail, "oldTopicPreferences")
    if new.get("unsubscribeAll") is True:
        return [(f"list:{contact_list}", True)]
    whole = [(f"list:{contact_list}", False)] if old.get("unsubscribeAll") is True else []
    before = {text_of(topic, "topicName"): topic for topic in objects_of(old, "topicSubscriptionStatus")}
    changed = [
        (f"list:{contact_list}/{text_of(topic, 'topicName')}", text_of(topic, "subscriptionStatus") == "OptOut")
        for topic in objects_of(new, "topicSubscriptionStatus")
        if topic != before.get(text_of(topic, "topicName"))
    ]
    if not whole and not changed:
        raise UnparseableEvent("a Subscription that changes nothing")
    return whole + changed


def secret_form(secret: str) -> str | None:
    """Judge the ARN of an admitted topic, which takes the place of a secret."""
    return None if _TOPIC_ARN.fullmatch(secret) else "is not the ARN of an SNS topic"


PROVIDER = Provider(
    name=NAME,
    verify=verify,
    split=split,
    parse=parse,
    unwrap=unwrap,
    certificate_url=certificate_url,
    confirm_url=confirm_url,
    headers=(_SNS_ID,),
    secret_form=secret_form,
    horizon_hours=2,
)
