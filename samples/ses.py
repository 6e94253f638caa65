"""What Amazon SES publishes to its SNS topic, and how SNS signs it when it posts it to a URL."""

import base64
import hashlib
import json
from datetime import UTC, datetime
from random import Random

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import NameOID

from samples import Keys, Raw, message_id, recipient

TOPIC = "arn:aws:sns:eu-west-1:210987654321:ses-events"
CERTIFICATE_URL = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem"
#: Years around whatever time a test or a demo pretends that it is.
VALID_FROM, VALID_UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2045, 1, 1, tzinfo=UTC)

MARKER = ("mail", "tags", "demo_marker", "0")
OPTIONS: dict[str, object] = {"http": True}
BATCH = 1

_AT = "2026-01-01T00:00:05.123Z"
_MESSAGE = "0102018f00000000-bbbbbbbb-0000-4000-8000-000000000000-000000"


def _mail(*destination: str) -> Raw:
    return {
        "timestamp": "2026-01-01T00:00:00.000Z",
        "source": "news@example.org",
        "messageId": _MESSAGE,
        "destination": list(destination or ("ann@example.com",)),
        "tags": {"ses:configuration-set": ["main"]},
    }


def _bounce(kind: str, subtype: str, status: str, feedback: str) -> Raw:
    return {
        "eventType": "Bounce",
        "bounce": {
            "feedbackId": feedback,
            "bounceType": kind,
            "bounceSubType": subtype,
            "bouncedRecipients": [
                {"emailAddress": "Bob <Bob@Example.com>", "status": status, "diagnosticCode": f"smtp; {status}"}
            ],
            "timestamp": _AT,
        },
        "mail": _mail("ann@example.com", "bob@example.com"),
    }


def _complaint(feedback: str, **more: str) -> Raw:
    people = [{"emailAddress": "ann@example.com"}, {"emailAddress": "bob@example.com"}]
    complaint = {"feedbackId": feedback, "complainedRecipients": people, "timestamp": _AT, **more}
    return {"eventType": "Complaint", "complaint": complaint, "mail": _mail("ann@example.com", "bob@example.com")}


def _subscription(before: Raw, after: Raw) -> Raw:
    subscription = {
        "contactList": "news",
        "timestamp": _AT,
        "source": "UnsubscribeHeader",
        "oldTopicPreferences": before,
        "newTopicPreferences": after,
    }
    return {"eventType": "Subscription", "subscription": subscription, "mail": _mail()}


def _topics(**statuses: str) -> Raw:
    listed = [{"topicName": name, "subscriptionStatus": status} for name, status in statuses.items()]
    return {"unsubscribeAll": False, "topicSubscriptionStatus": listed}


_READER = {"timestamp": _AT, "ipAddress": "192.0.2.1", "userAgent": "Mozilla/5.0"}
_DELAYED = [{"emailAddress": "ann@example.com", "status": "4.2.2", "diagnosticCode": "smtp; 452 4.2.2 full"}]

SAMPLES: dict[str, Raw] = {
    "Send": {"eventType": "Send", "send": {}, "mail": _mail()},
    "Delivery": {
        "eventType": "Delivery",
        "delivery": {"timestamp": _AT, "recipients": ["ann@example.com"], "smtpResponse": "250 2.0.0 OK"},
        "mail": _mail(),
    },
    "DeliveryDelay": {
        "eventType": "DeliveryDelay",
        "deliveryDelay": {"timestamp": _AT, "delayType": "MailboxFull", "delayedRecipients": _DELAYED},
        "mail": _mail(),
    },
    "permanent bounce": _bounce("Permanent", "General", "5.1.1", "fb-1"),
    "permanent bounce of a 4.x.x": _bounce("Permanent", "General", "4.0.0", "fb-2"),
    "transient bounce": _bounce("Transient", "MailboxFull", "5.2.2", "fb-3"),
    "undetermined bounce": _bounce("Undetermined", "Undetermined", "", "fb-4"),
    "suppressed bounce": _bounce("Permanent", "OnAccountSuppressionList", "5.1.1", "fb-5"),
    "complaint": _complaint("fb-6", complaintFeedbackType="abuse"),
    "not spam": _complaint("fb-7", complaintFeedbackType="not-spam"),
    "suppressed complaint": _complaint("fb-8", complaintSubType="OnAccountSuppressionList"),
    "Reject": {"eventType": "Reject", "reject": {"reason": "Bad content"}, "mail": _mail()},
    "Rendering Failure": {
        "eventType": "Rendering Failure",
        "failure": {"templateName": "welcome", "errorMessage": "Attribute 'name' is not present"},
        "mail": _mail(),
    },
    "Open": {"eventType": "Open", "open": _READER, "mail": _mail()},
    "Open of several recipients": {
        "eventType": "Open",
        "open": {**_READER, "ipAddress": "192.0.2.2"},
        "mail": _mail("ann@example.com", "bob@example.com"),
    },
    "Click": {"eventType": "Click", "click": {**_READER, "link": "https://example.com/a"}, "mail": _mail()},
    "left the list": _subscription(_topics(), {"unsubscribeAll": True}),
    "joined the list again": _subscription({"unsubscribeAll": True}, {"unsubscribeAll": False}),
    "left a topic": _subscription(_topics(daily="OptIn", weekly="OptIn"), _topics(daily="OptOut", weekly="OptIn")),
    "unknown": {"eventType": "Premonition", "premonition": {"timestamp": _AT}, "mail": _mail()},
    "feedback notification": {
        "notificationType": "Bounce",
        "bounce": {
            "feedbackId": "fb-9",
            "bounceType": "Transient",
            "bounceSubType": "MailboxFull",
            "bouncedRecipients": [{"emailAddress": "bob@example.com"}],
            "timestamp": _AT,
        },
        "mail": {
            "timestamp": _AT,
            "source": "news@example.org",
            "messageId": "m-9",
            "destination": ["bob@example.com"],
        },
    },
}


def generate(rng: Random, marker: str, at: datetime) -> Raw:
    """Make one event of one recipient; SES tags carry the marker."""
    kind = rng.choice(("Delivery", "DeliveryDelay", "Bounce", "Complaint", "Open", "Click"))
    stamp, address = at.isoformat(), recipient(rng)
    people = [{"emailAddress": address, "status": "5.1.1"}]
    detail: dict[str, Raw] = {
        "Delivery": {"recipients": [address]},
        "DeliveryDelay": {"delayType": "General", "delayedRecipients": people},
        "Bounce": {"feedbackId": marker, "bounceType": "Permanent", "bouncedRecipients": people},
        "Complaint": {"feedbackId": marker, "complainedRecipients": people},
        "Open": {"ipAddress": "192.0.2.1"},
        "Click": {"ipAddress": "192.0.2.1", "link": f"https://example.com/{marker}"},
    }
    mail = {**_mail(address), "messageId": f"{message_id(rng)}-{marker}", "tags": {MARKER[2]: [marker]}}
    return {"eventType": kind, kind[0].lower() + kind[1:]: {"timestamp": stamp, **detail[kind]}, "mail": mail}


def make_keys() -> Keys:
    """Make SNS's key with its certificate; the secret is the topic that the source admits."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    certificate = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(VALID_FROM)
        .not_valid_after(VALID_UNTIL)
        .sign(private, SHA256())
    )
    key = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Keys(secret=TOPIC, signer=(key + certificate.public_bytes(Encoding.PEM)).decode())


def certificate(keys: Keys) -> str:
    """Return what lies at CERTIFICATE_URL."""
    return keys.signer[keys.signer.index("-----BEGIN CERTIFICATE") :]


def body(events: list[Raw]) -> bytes:
    """Wrap the one event in an SNS message; `seal` signs it."""
    (event,) = events
    return json.dumps({"Type": "Notification", "Message": json.dumps(event), "TopicArn": TOPIC}).encode()


def seal(body: bytes, keys: Keys, at: datetime) -> bytes:
    """Return the message with its id, its time and its signature."""
    message: Raw = {
        **json.loads(body),
        "MessageId": hashlib.sha256(body).hexdigest()[:32],
        "Timestamp": at.isoformat(timespec="milliseconds"),
    }
    signed = "".join(f"{name}\n{message[name]}\n" for name in sorted(message))
    private = load_pem_private_key(keys.signer.encode(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    signature = base64.b64encode(private.sign(signed.encode(), padding.PKCS1v15(), SHA256())).decode()
    proof = {"SignatureVersion": "2", "Signature": signature, "SigningCertURL": CERTIFICATE_URL}
    return json.dumps({**message, **proof}).encode()


def sign(body: bytes, keys: Keys, at: datetime) -> dict[str, str]:
    """Return SNS's headers, which repeat what the message says."""
    message = json.loads(body)
    return {
        "Content-Type": "text/plain; charset=UTF-8",
        "x-amz-sns-message-type": message["Type"],
        "x-amz-sns-message-id": message["MessageId"],
    }
