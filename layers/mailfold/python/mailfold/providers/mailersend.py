"""MailerSend webhooks: one signed JSON object per request, to be answered within 3 seconds."""

from collections.abc import Sequence

from mailfold.errors import VerificationError
from mailfold.events import BounceClass, Event, EventType, Raw
from mailfold.fold import effect_of
from mailfold.providers.base import (
    Origin,
    Provider,
    address_of,
    canonical_digest,
    object_of,
    require,
    split_json,
    text_of,
    time_of,
)
from mailfold.request import Request, Source
from mailfold.secret_forms import shared_key
from mailfold.signatures import Proof, prove_hmac

NAME = "mailersend"

#: Printed in MailerSend's documents for trying out a URL; whoever reads them could sign with it.
PUBLIC_TEST_SECRET = "test_Am3L1GuOIc4blLUuHqAPxxwkZaJyEk8G"  # noqa: S105  # nosec B105

# https://developers.mailersend.com/api/v1/webhooks.html#available-events
TYPES = {
    "sent": EventType.PROCESSED,
    "deferred": EventType.DEFERRED,
    "delivered": EventType.DELIVERED,
    "soft_bounced": EventType.BOUNCED,
    "hard_bounced": EventType.BOUNCED,
    "opened": EventType.OPENED,
    "opened_unique": EventType.OPENED,
    "clicked": EventType.CLICKED,
    "clicked_unique": EventType.CLICKED,
    "unsubscribed": EventType.UNSUBSCRIBED,
    "spam_complaint": EventType.COMPLAINED,
}

BOUNCE_CLASSES = {"soft_bounced": BounceClass.SOFT, "hard_bounced": BounceClass.HARD}


def probe(request: Request) -> bool:
    """Recognise the test by which MailerSend tries a URL when a webhook is saved: signed with the public secret."""
    if request.method != "POST":
        return False
    try:
        prove_hmac(secrets=[PUBLIC_TEST_SECRET], message=(request.body,), signature=_signature(request))
    except VerificationError:
        return False
    return True


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the hex HMAC-SHA256 over the raw body; the vendor's documents give its header two names."""
    usable = [secret for secret in secrets if secret != PUBLIC_TEST_SECRET]
    if not usable:
        raise VerificationError
    return prove_hmac(secrets=usable, message=(request.body,), signature=_signature(request))


def _signature(request: Request) -> str:
    return request.headers.get("signature") or request.header("x-mailersend-signature")


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Translate the one event."""
    data = object_of(raw, "data")
    kind = require(text_of(data, "type") or text_of(raw, "type"), "type")
    kind = kind.removeprefix("activity.")
    email, morph = object_of(data, "email"), object_of(data, "morph")
    event_type = TYPES.get(kind, EventType.OTHER)
    bounce_class = BOUNCE_CLASSES.get(kind)
    return [
        Event(
            event_id=f"{NAME}:{text_of(data, 'id') or canonical_digest(raw)}:{kind}",
            source=origin.source.name,
            provider=NAME,
            kind=kind,
            type=event_type,
            bounce_class=bounce_class,
            effect=effect_of(event_type, bounce_class),
            message_id=text_of(object_of(email, "message"), "id") or text_of(data, "message_id"),
            recipient=_recipient(data, email),
            # Only where there is no activity does the outer time, at which the webhook was made, say anything.
            occurred_at=time_of(data.get("created_at") or raw.get("created_at")),
            received_at=origin.received_at,
            reason=text_of(morph, "reason", "readable_reason") or text_of(object_of(data, "meta"), "reason"),
            raw=raw,
        )
    ]


def _recipient(data: Raw, email: Raw) -> str | None:
    """Return the recipient, which payloads of version 2.0 no longer nest."""
    nested = text_of(object_of(email, "recipient"), "email") or text_of(object_of(data, "recipient"), "email")
    return address_of(nested or text_of(data, "recipient", "email"))


def secret_form(secret: str) -> str | None:
    """Judge a signing secret; the one that everybody can read is none."""
    if secret == PUBLIC_TEST_SECRET:
        return "is the public test secret of MailerSend's documents"
    return shared_key(secret)


PROVIDER = Provider(
    name=NAME, verify=verify, split=split_json, parse=parse, probe=probe, secret_form=secret_form, horizon_hours=72
)
