"""Postmark's side of its webhooks."""

from datetime import datetime
from random import Random

from samples import Keys, Raw, attempt_id, basic_headers, basic_keys, message_id, one_object, recipient

MARKER = ("Metadata", "marker")
OPTIONS: dict[str, object] = {}
BATCH = 1

make_keys = basic_keys
body = one_object

_MESSAGE = {"MessageID": "00000000-aaaa-4000-8000-000000000001", "ServerID": 23, "MessageStream": "outbound"}
_BOUNCES = (
    "HardBounce",
    "SoftBounce",
    "Transient",
    "DnsError",
    "Blocked",
    "DMARCPolicy",
    "SpamNotification",
    "VirusNotification",
    "BadEmailAddress",
    "ManuallyDeactivated",
    "Unconfirmed",
    "SpamComplaint",
    "Unsubscribe",
    "Subscribe",
    "SMTPApiError",
    "TemplateRenderingFailed",
    "InboundError",
    "AutoResponder",
    "AddressChange",
    "ChallengeVerification",
    "OpenRelayTest",
    "Unknown",
)


def _bounce(kind: str, number: int, **more: object) -> Raw:
    return {
        **_MESSAGE,
        "RecordType": "Bounce",
        "ID": 692560000 + number,
        "Type": kind,
        "Email": "Bob@Example.com",
        "BouncedAt": "2026-01-01T00:00:05.1234567Z",
        "Details": "smtp;550 5.1.1 no such user",
        **more,
    }


def _change(reason: str | None, *, suppress: bool) -> Raw:
    return {
        **_MESSAGE,
        "RecordType": "SubscriptionChange",
        "MessageStream": "broadcast",
        "Recipient": "ann@example.com",
        "ChangedAt": "2026-01-03T00:00:00Z",
        "Origin": "Recipient",
        "SuppressSending": suppress,
        "SuppressionReason": reason,
    }


SAMPLES: dict[str, Raw] = {
    **{f"bounce {kind}": _bounce(kind, number) for number, kind in enumerate(_BOUNCES)},
    "bounce of a new kind": _bounce("Premonition", 90),
    "soft bounce that stopped the address": _bounce("SoftBounce", 91, Inactive=True),
    "Delivery": {
        **_MESSAGE,
        "RecordType": "Delivery",
        "Recipient": "ann@example.com",
        "DeliveredAt": "2026-01-01T00:00:02.9070259Z",
        "Details": "250 OK",
    },
    "Open": {
        **_MESSAGE,
        "RecordType": "Open",
        "Recipient": "ann@example.com",
        "ReceivedAt": "2026-01-01T01:00:00.1234567Z",
        "UserAgent": "Mozilla/5.0",
        "Geo": {"IP": "192.0.2.1"},
    },
    "Click": {
        **_MESSAGE,
        "RecordType": "Click",
        "Recipient": "ann@example.com",
        "ReceivedAt": "2026-01-01T01:00:01.1234567-04:00",
        "OriginalLink": "https://example.com/a",
        "ClickLocation": "HTML",
    },
    "SpamComplaint": {
        **_MESSAGE,
        "RecordType": "SpamComplaint",
        "ID": 692569999,
        "Type": "SpamComplaint",
        "Email": "ann@example.com",
        "BouncedAt": "2026-01-02T00:00:00Z",
    },
    "left a stream": _change("ManualSuppression", suppress=True),
    "stream stopped by a bounce": _change("HardBounce", suppress=True),
    "stream stopped by a complaint": _change("SpamComplaint", suppress=True),
    "joined a stream again": _change(None, suppress=False),
    "unknown": {**_MESSAGE, "RecordType": "Premonition", "ReceivedAt": "2026-01-01T00:00:00Z"},
}


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Send the credential, and the trace id that every retry repeats."""
    return {**basic_headers(keys), "X-PM-Webhook-Trace-Id": attempt_id(body)}


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event."""
    sample = SAMPLES[rng.choice(("Delivery", "Open", "Click", "bounce HardBounce", "bounce SoftBounce"))]
    stamp = at.strftime("%Y-%m-%dT%H:%M:%S.%f0Z")
    made = {**sample, "MessageID": f"{message_id(rng)}-{marker}", "Metadata": {MARKER[1]: marker}}
    made |= {name: stamp for name in ("DeliveredAt", "ReceivedAt", "BouncedAt") if name in sample}
    made |= {name: recipient(rng) for name in ("Recipient", "Email") if name in sample}
    return made
