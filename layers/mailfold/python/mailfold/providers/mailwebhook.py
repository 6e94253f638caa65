"""MailWebhook deliveries: whatever JSON the route's pipeline makes of a mail, under a stable idempotency key."""

from collections.abc import Sequence

from mailfold.errors import VerificationError
from mailfold.events import Event, Raw
from mailfold.providers.base import Origin, Provider
from mailfold.providers.mapping import check_configured, parse_configured, split_keyed
from mailfold.request import Request, Source
from mailfold.secret_forms import shared_key
from mailfold.signatures import Proof, check_fresh, prove_hmac

NAME = "mailwebhook"

#: The stamp is part of the signature header, which is made again for each attempt.
TOLERANCE_S = 300

# https://docs.mailwebhook.com/docs/endpoints/ names no fixed body: the source's settings point to what it holds.
DEFAULTS = {"type": "/type", "time": "/timestamp", "recipient": "/recipient", "message_id": "/message_id"}

#: Outside the signature: it names the request's claim, and never an event.
KEY_HEADERS = ("x-idempotency-key", "idempotency-key")
#: Three are known: t, kid and v1.
MOST_PARTS = 10


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the base64 HMAC-SHA256 over timestamp, a dot and the raw body."""
    parts = dict(_parts(request.header("x-mailwebhook-signature")))
    if "t" not in parts or "v1" not in parts:
        raise VerificationError
    check_fresh(parts["t"], now=request.received_at, tolerance_s=TOLERANCE_S)
    return prove_hmac(
        secrets=secrets,
        message=(parts["t"].encode(), b".", request.body),
        signature=parts["v1"],
        encoding="base64",
    )


def _parts(header: str) -> list[tuple[str, str]]:
    parts = header.split(",", MOST_PARTS)
    if len(parts) > MOST_PARTS:
        raise VerificationError
    found = (part.strip().partition("=") for part in parts)
    return [(name, value) for name, _, value in found]


def key(request: Request) -> str | None:
    """Return the idempotency key, under either of its two names."""
    return next((request.headers[name] for name in KEY_HEADERS if request.headers.get(name)), None)


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Read the event; its id is made of what is signed, so that under another key it is the same event."""
    return parse_configured(raw, origin, provider=NAME, defaults=DEFAULTS)


PROVIDER = Provider(
    name=NAME,
    check=check_configured,
    verify=verify,
    split=split_keyed,
    parse=parse,
    key=key,
    secret_form=shared_key,
    horizon_hours=24,
)
