"""Mandrill (Mailchimp Transactional) webhooks: a signed form whose one field holds a JSON array."""

from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl

from mailfold.errors import MalformedPayload, SettingsError, VerificationError
from mailfold.events import BounceClass, Effect, Event, EventType, Raw, digest
from mailfold.fold import effect_of
from mailfold.jsontext import loads
from mailfold.providers.base import Origin, Provider, address_of, as_events, object_of, require, text_of, time_of
from mailfold.request import Request, Source
from mailfold.secret_forms import shared_key
from mailfold.signatures import Proof, prove_hmac

NAME = "mandrill"

FIELD = "mandrill_events"
#: An empty batch, in the two ways to write it: sent before the webhook exists, hence before there is a key.
EMPTY_BATCHES = {b"mandrill_events=%5B%5D", b"mandrill_events=[]"}

# https://mailchimp.com/developer/transactional/docs/webhooks/#webhook-format
TYPES = {
    "send": EventType.PROCESSED,
    "delivered": EventType.DELIVERED,
    "deferral": EventType.DEFERRED,
    "hard_bounce": EventType.BOUNCED,
    "soft_bounce": EventType.BOUNCED,
    "open": EventType.OPENED,
    "click": EventType.CLICKED,
    "spam": EventType.COMPLAINED,
    "unsub": EventType.UNSUBSCRIBED,
    "reject": EventType.DROPPED,
}

BOUNCE_CLASSES = {"hard_bounce": BounceClass.HARD, "soft_bounce": BounceClass.SOFT}

#: Changes of the deny list, which Mandrill calls sync events.
SYNC: dict[str, tuple[EventType, Effect | None]] = {
    "blacklist/add": (EventType.DROPPED, Effect.SUPPRESS),
    "blacklist/change": (EventType.DROPPED, Effect.SUPPRESS),
    "blacklist/remove": (EventType.RESUBSCRIBED, Effect.LIFT),
}


def check(source: Source) -> None:
    """Refuse a source without the URL that every signature covers."""
    if not str(source.options.get("url", "")).startswith("https://"):
        raise SettingsError(f'the source {source.name} needs "url": the https address that Mandrill was given')


def probe(request: Request) -> bool:
    """Recognise the calls by which Mandrill checks a URL before it issues the key."""
    return request.method == "HEAD" or (request.method == "POST" and request.body in EMPTY_BATCHES)


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the base64 HMAC-SHA1 over the URL as configured and the decoded form, sorted by name."""
    url = source.options.get("url")
    if not isinstance(url, str):
        raise VerificationError
    return prove_hmac(
        secrets=secrets,
        # Made on demand: the form is read only where the signature has the right form.
        message=(part.encode("utf-8", "surrogatepass") for part in _signed_parts(url, request.body)),
        signature=request.header("x-mandrill-signature"),
        algorithm="sha1",
        encoding="base64",
    )


def _signed_parts(url: str, body: bytes) -> Iterator[str]:
    yield url
    try:
        form = sorted(_form(body))
    except MalformedPayload:
        raise VerificationError from None
    for name, value in form:
        yield name
        yield value


def _form(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("utf-8"), keep_blank_values=True, strict_parsing=True, max_num_fields=100)
    except ValueError:
        raise MalformedPayload("the body is not a form") from None


def split(body: bytes, source: Source) -> list[Raw]:
    """Cut the array in the form's one field."""
    form = dict(_form(body))
    if FIELD not in form:
        raise MalformedPayload(f"the form has no field {FIELD}")
    return as_events(loads(form[FIELD]))


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate one event about a message, or one change of the deny list."""
    if "reject" in raw and text_of(raw, "type"):
        return [_sync(raw, origin)]
    kind = require(text_of(raw, "event"), "event")
    message = object_of(raw, "msg")
    message_id = text_of(raw, "_id") or text_of(message, "_id")
    event_type = TYPES.get(kind, EventType.OTHER)
    bounce_class = BOUNCE_CLASSES.get(kind)
    recipient = address_of(text_of(message, "email"))
    facts = (raw.get("ts"), raw.get("url"), raw.get("ip"), raw.get("user_agent"), message.get("diag"))
    identity = digest(kind, message_id or "", recipient or "", *("" if fact is None else str(fact) for fact in facts))
    return [
        Event(
            event_id=f"{NAME}:{identity}",
            source=origin.source.name,
            provider=NAME,
            kind=kind,
            type=event_type,
            bounce_class=bounce_class,
            # A rejected message met an address that Mandrill had already stopped.
            effect=Effect.SUPPRESS if kind == "reject" else effect_of(event_type, bounce_class),
            message_id=message_id,
            recipient=recipient,
            occurred_at=time_of(raw.get("ts")),
            received_at=origin.received_at,
            reason=text_of(message, "diag", "bounce_description"),
            raw=raw,
        )
    ]


def _sync(raw: Raw, origin: Origin) -> Event:
    kind = f"{text_of(raw, 'type')}/{text_of(raw, 'action')}"
    entry = object_of(raw, "reject")
    recipient = address_of(text_of(entry, "email"))
    event_type, effect = SYNC.get(kind, (EventType.OTHER, None))
    return Event(
        event_id=f"{NAME}:{digest(kind, recipient or '', text_of(raw, 'ts') or '')}",
        source=origin.source.name,
        provider=NAME,
        kind=kind,
        type=event_type,
        effect=effect,
        message_id=None,
        recipient=recipient,
        occurred_at=time_of(raw.get("ts")),
        received_at=origin.received_at,
        reason=text_of(entry, "detail", "reason"),
        raw=raw,
    )


PROVIDER = Provider(
    name=NAME,
    verify=verify,
    split=split,
    parse=parse,
    probe=probe,
    check=check,
    secret_form=shared_key,
    horizon_hours=24,
)
