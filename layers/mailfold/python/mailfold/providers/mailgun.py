"""Mailgun webhooks: the signature stands in the body and covers only a timestamp and a token."""

import re
from collections.abc import Sequence
from urllib.parse import parse_qsl

from mailfold.errors import MalformedPayload, VerificationError
from mailfold.events import BounceClass, Effect, Event, EventType, Raw
from mailfold.fold import effect_of
from mailfold.jsontext import loads
from mailfold.providers.base import Origin, Provider, address_of, object_of, require, text_of, time_of
from mailfold.request import Request, Source
from mailfold.secret_forms import shared_key
from mailfold.signatures import Proof, check_fresh, prove_any_hmac

NAME = "mailgun"

#: Mailgun retries for 8 h with the stamp of the first attempt; a tighter window would refuse every retry.
TOLERANCE_S = 9 * 3600

# https://documentation.mailgun.com/docs/mailgun/user-manual/events/#event-types
TYPES = {
    "accepted": EventType.PROCESSED,
    "delivered": EventType.DELIVERED,
    "failed": EventType.BOUNCED,
    "rejected": EventType.DROPPED,
    "opened": EventType.OPENED,
    "clicked": EventType.CLICKED,
    "unsubscribed": EventType.UNSUBSCRIBED,
    "complained": EventType.COMPLAINED,
    # Names of the form posts from before 2018.
    "bounced": EventType.BOUNCED,
    "dropped": EventType.DROPPED,
}

#: Mailgun did not try: the address has bounced, unsubscribed or complained before, or the list is poor.
SUPPRESSED_CODES = {"605", "606", "607", "625"}
#: Mailgun gave up retrying, which says nothing of the address.
GIVEN_UP = {"old"}

#: Tokens have 50 characters; what is hashed, and claimed by, must not be as long as the sender likes.
LONGEST_TOKEN = 255
#: Under the account's key, or for a sub-account under its parent's.
SIGNATURES = ("signature", "parent-signature")

#: What a form post is signed with, among the sender's own variables.
SIGNED_FIELDS = ("timestamp", "token", "signature")

#: Three numbers and no fourth: an enhanced status code (RFC 3463), not the address of a host.
_DEAD_ADDRESS = re.compile(r"(?<![\d.])5\.1\.\d{1,3}(?!\.?\d)")
#: A longer To header names more than one recipient: no line of a mail is longer than 998 characters (RFC 5322).
LONGEST_TO = 1_000
#: Taken whole, so that no character is looked at twice.
_WORD = re.compile(r"[^\s<>,;\"]+")
#: What an address is called once its person is erased.
_ERASED = re.compile(r"erased:[0-9a-f]{64}")


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the hex HMAC-SHA256 over timestamp and token, under the account's key or, for a sub-account, its parent's.

    Nothing else is signed, so the token is what the request is claimed by: the same token with another event is refused
    by its claim, and a retry, which repeats both, is a duplicate.
    """
    signature = _signature(request)
    stamp, token = require_text(signature, "timestamp"), require_text(signature, "token")
    check_fresh(stamp, now=request.received_at, tolerance_s=TOLERANCE_S)
    if len(token) > LONGEST_TOKEN:
        raise VerificationError
    given = [text for text in (text_of(signature, name) for name in SIGNATURES) if text]
    message = (stamp.encode(), token.encode("utf-8", "surrogatepass"))
    return prove_any_hmac(secrets=secrets, message=message, signatures=given)


def _signature(request: Request) -> Raw:
    """Return the signed part; the body must be read for it, but nothing of it is believed before the check."""
    try:
        return _parts(request.body)[0]
    except MalformedPayload:
        raise VerificationError from None


def require_text(signature: Raw, name: str) -> str:
    """Return a part of the signature as text."""
    value = text_of(signature, name)
    if value is None:
        raise VerificationError
    return value


def _parts(body: bytes) -> tuple[Raw, Raw]:
    if body[:1] != b"{":
        return _form_parts(body)
    parsed = loads(body)
    return object_of(parsed, "signature"), object_of(parsed, "event-data")


def _form_parts(body: bytes) -> tuple[Raw, Raw]:
    """Read a form post; user variables are mixed in: the last signature fields and the first others are Mailgun's."""
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, strict_parsing=True, max_num_fields=1000)
    except ValueError:
        raise MalformedPayload("the body is neither JSON nor a form") from None
    last, first = dict(pairs), dict(reversed(pairs))
    signature = {name: last[name] for name in SIGNED_FIELDS if name in last}
    event = {**first, **signature, "legacy": True}
    return signature, {name: value for name, value in event.items() if name != "signature"}


def claim(request: Request) -> str:
    """Return the token, which is for single use: used means processed, not merely seen."""
    return f"token:{text_of(_parts(request.body)[0], 'token')}"


def split(body: bytes, source: Source) -> list[Raw]:
    """Return the event without its signature, which is of no use once it is checked."""
    event = _parts(body)[1]
    if not event:
        raise MalformedPayload("the body has no event-data")
    return [event]


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate the one event."""
    kind = require(text_of(raw, "event"), "event")
    status = object_of(raw, "delivery-status")
    event_type, bounce_class, effect = _meaning(kind, raw, status)
    return [
        Event(
            event_id=f"{NAME}:{_identity(kind, raw)}",
            source=origin.source.name,
            provider=NAME,
            kind="/".join(filter(None, (kind, text_of(raw, "severity"), text_of(raw, "reason")))),
            type=event_type,
            bounce_class=bounce_class,
            effect=effect,
            scope=_scope(kind, raw),
            message_id=_message_id(raw),
            recipient=_recipient(raw),
            occurred_at=time_of(raw.get("timestamp")),
            received_at=origin.received_at,
            reason=_reason(raw, status),
            machine=bool(text_of(object_of(raw, "client-info"), "bot")),
            raw=raw,
        )
    ]


def _identity(kind: str, raw: Raw) -> str:
    # An id is unique for a day only, and sample payloads share one among several kinds. A form post has none, and what
    # it calls `id` is the sender's own variable.
    native = text_of(raw, "token") if raw.get("legacy") is True else text_of(raw, "id")
    return f"{kind}:{require(native, 'id')}:{text_of(raw, 'timestamp') or ''}"


def _meaning(kind: str, raw: Raw, status: Raw) -> tuple[EventType, BounceClass | None, Effect | None]:
    event_type = TYPES.get(kind, EventType.OTHER)
    reason = text_of(raw, "reason") or ""
    if event_type not in {EventType.BOUNCED, EventType.DROPPED}:
        return event_type, None, effect_of(event_type)
    if text_of(raw, "severity") == "temporary":
        return EventType.DEFERRED, None, None
    # A form post has its code beside the other fields.
    code = text_of(status, "code") or text_of(raw, "code")
    if code in SUPPRESSED_CODES or reason.startswith("suppress-"):
        return EventType.DROPPED, None, Effect.SUPPRESS
    if event_type is EventType.DROPPED:
        return event_type, None, None
    bounce_class = _bounce_class(reason, text_of(status, "message") or text_of(raw, "error") or "")
    return event_type, bounce_class, effect_of(event_type, bounce_class)


def _bounce_class(reason: str, words: str) -> BounceClass:
    if reason in GIVEN_UP:
        return BounceClass.SOFT
    if reason == "bounce" or _DEAD_ADDRESS.search(words):
        return BounceClass.HARD
    return BounceClass.UNKNOWN


def _message_id(raw: Raw) -> str | None:
    # Without the angle brackets in which the send API returns it.
    headers = object_of(object_of(raw, "message"), "headers")
    found = text_of(headers, "message-id") or text_of(raw, "Message-Id", "message-id")
    return found.strip("<>") if found else None


def _recipient(raw: Raw) -> str | None:
    stated = text_of(raw, "recipient")
    if stated:
        return address_of(stated)
    # A rejected message has no recipient of its own, only its To header; of several in it, none is named.
    headers = object_of(object_of(raw, "message"), "headers")
    addresses = _addresses(text_of(headers, "to") or "")
    return addresses.pop() if len(addresses) == 1 else None


def _addresses(header: str) -> set[str]:
    if len(header) > LONGEST_TO:
        return set()
    words = _WORD.findall(header)
    found = [[word] if "@" in word[1:-1] else _ERASED.findall(word) for word in words]
    return {address.lower() for addresses in found for address in addresses}


def _reason(raw: Raw, status: Raw) -> str | None:
    refusal = text_of(object_of(raw, "reject"), "reason")
    return text_of(status, "message", "description") or refusal or text_of(raw, "reason", "error", "description")


def _scope(kind: str, raw: Raw) -> str:
    # The `tags` are those of the message. Whether a recipient left only them or everything is not said, and to mail
    # somebody who left everything is worse than not to mail somebody who left a tag.
    address = text_of(object_of(raw, "mailing-list"), "address")
    return f"list:{address}" if address and kind == "unsubscribed" else ""


PROVIDER = Provider(
    name=NAME,
    verify=verify,
    split=split,
    parse=parse,
    claim=claim,
    signs_claim_only=True,
    secret_form=shared_key,
    horizon_hours=9,
)
