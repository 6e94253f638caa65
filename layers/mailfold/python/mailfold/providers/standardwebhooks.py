"""Any sender that follows the Standard Webhooks specification."""

from collections.abc import Sequence

from mailfold.events import Event, Raw
from mailfold.providers.base import LONGEST_HORIZON_HOURS, Origin, Provider
from mailfold.providers.mapping import check_configured, parse_configured, split_keyed
from mailfold.request import Request, Source
from mailfold.secret_forms import standard_webhooks
from mailfold.signatures import Proof, check_fresh
from mailfold.standard_webhook import prove_standard_webhook

NAME = "standardwebhooks"

#: Every attempt is signed again and the reference libraries use the same window.
TOLERANCE_S = 300

# https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#payload-structure
DEFAULTS = {
    "type": "/type",
    "time": "/timestamp",
    "recipient": "/data/recipient",
    "message_id": "/data/message_id",
    "reason": "/data/reason",
}


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check any one of the signatures over id, timestamp and body."""
    stamp = request.header("webhook-timestamp")
    check_fresh(stamp, now=request.received_at, tolerance_s=TOLERANCE_S)
    return prove_standard_webhook(
        secrets=secrets,
        message_id=request.header("webhook-id"),
        stamp=stamp,
        body=request.body,
        signatures=request.header("webhook-signature"),
    )


def key(request: Request) -> str | None:
    """Return the id, which is the same on every attempt."""
    return request.headers.get("webhook-id")


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Read the event; its id is in the header."""
    return parse_configured(raw, origin, provider=NAME, defaults=DEFAULTS, native_id=origin.headers.get("webhook-id"))


PROVIDER = Provider(
    name=NAME,
    check=check_configured,
    verify=verify,
    split=split_keyed,
    parse=parse,
    key=key,
    headers=("webhook-id",),
    secret_form=standard_webhooks("whsec_", "whpk_"),
    horizon_hours=LONGEST_HORIZON_HOURS,
)
