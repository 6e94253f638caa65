"""Postal, the self-hosted mail server: one RSA-signed JSON object per request."""

import re
from collections.abc import Sequence

from mailfold.events import BounceClass, Event, EventType, Raw
from mailfold.fold import effect_of
from mailfold.providers.base import Origin, Provider, address_of, object_of, require, split_json, text_of, time_of
from mailfold.request import Request, Source
from mailfold.secret_forms import public_key_of
from mailfold.signatures import Proof, prove_rsa

NAME = "postal"

# https://docs.postalserver.io/developer/webhooks
TYPES = {
    "MessageSent": EventType.DELIVERED,
    "MessageDelayed": EventType.DEFERRED,
    "MessageHeld": EventType.DEFERRED,
    "MessageDeliveryFailed": EventType.BOUNCED,
    "MessageBounced": EventType.BOUNCED,
    "MessageLoaded": EventType.OPENED,
    "MessageLinkClicked": EventType.CLICKED,
}

#: Postal calls every permanent failure hard, content and policy included; only the server's words tell of the address.
#: Three numbers and no fourth: an enhanced status code (RFC 3463), not the address of a host.
_DEAD_ADDRESS = re.compile(r"(?<![\d.])5\.1\.\d{1,3}(?!\.?\d)")
_OTHER_REFUSAL = re.compile(r"(?<![\d.])5\.\d{1,3}\.\d{1,3}(?!\.?\d)")


def verify(request: Request, source: Source, public_keys: Sequence[str]) -> Proof:
    """Check the RSA signature over the raw body: SHA-256, or SHA-1 where an older server sends nothing better."""
    newer = request.headers.get("x-postal-signature-256")
    return prove_rsa(
        public_keys=public_keys,
        message=(request.body,),
        signature=newer or request.header("x-postal-signature"),
        algorithm="sha256" if newer else "sha1",
    )


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate the one event."""
    kind = require(text_of(raw, "event"), "event")
    payload = object_of(raw, "payload")
    message = object_of(payload, "message") or object_of(payload, "original_message")
    event_type = TYPES.get(kind, EventType.OTHER)
    words = text_of(payload, "output") or text_of(payload, "details") or ""
    bounce_class = _bounce_class(words) if event_type is EventType.BOUNCED else None
    return [
        Event(
            event_id=f"{NAME}:{require(text_of(raw, 'uuid'), 'uuid')}",
            source=origin.source.name,
            provider=NAME,
            kind="/".join(filter(None, (kind, text_of(payload, "status")))),
            type=event_type,
            bounce_class=bounce_class,
            effect=effect_of(event_type, bounce_class),
            message_id=text_of(message, "message_id", "id"),
            recipient=address_of(text_of(message, "to")),
            occurred_at=time_of(payload.get("timestamp") or raw.get("timestamp")),
            received_at=origin.received_at,
            reason=words or None,
            raw=raw,
        )
    ]


def _bounce_class(words: str) -> BounceClass:
    if _DEAD_ADDRESS.search(words):
        return BounceClass.HARD
    return BounceClass.SOFT if _OTHER_REFUSAL.search(words) else BounceClass.UNKNOWN


def secret_form(secret: str) -> str | None:
    """Judge the installation's public key."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    return None if isinstance(public_key_of(secret), RSAPublicKey) else "is no RSA public key"


PROVIDER = Provider(name=NAME, verify=verify, split=split_json, parse=parse, secret_form=secret_form, horizon_hours=1)
