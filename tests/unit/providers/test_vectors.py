"""What vendors and specifications publish to test a receiver with: each vector passes, each stated flaw fails.

The addresses in them are the vendors' own inventions.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.errors import VerificationError
from mailfold.providers import REGISTRY
from mailfold.request import Request, Source
from mailfold.signatures import Proof

# https://github.com/sendgrid/sendgrid-python/blob/main/test/unit/test_eventwebhook.py
SENDGRID_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eN"
    "Ec6wEA3F+g=="
)
SENDGRID_OTHER_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqTxd43gyp8IOEto2LdIfjRQrIbsd4SXZkLW6jDutdhXSJCWHw8REntlo7aNDthvj+y7GjUuFDb/R"
    "1NGe1OPzpA=="
)
SENDGRID_STAMP = "1600112502"
SENDGRID_SIGNATURE = "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM="
SENDGRID_OTHER_SIGNATURE = (
    "MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH3j/0="
)
SENDGRID_BODY = (
    b'[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address",'
    b'"sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",'
    b'"sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",'
    b'"smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n'
)

# https://github.com/symfony/mailgun-mailer/tree/7.3/Tests/Webhook/Fixtures
MAILGUN_KEY = "key-0p6mqbf74lb20gzq9f4dhpn9rg3zyk26"
MAILGUN = [
    (
        "1661621787",
        "d1931d9645b65e60f6fddf94448e982ff8db9256144a7fcb15",
        "1aed11dcc25700d6b75f9a6d568343ea02ecdd3fc89cc3209e2883a19e5cdd50",
    ),
    (
        "1661621710",
        "885894756b6c371a377f5f9516d60a4db497ad27d4931ed215",
        "606307bb55b72686b1b2a2c8c37ae6e6ec89496592bac4a4eee5a346337d04a5",
    ),
    (
        "1661590666",
        "fff0ebc59c0516f4ce0823212a2f45e5c67814420b99fe558b",
        "a0cd251821d8fd56a2130b541becc8e441023574e602fe9829a9ab9fbfdea33f",
    ),
]

# https://github.com/standard-webhooks/standard-webhooks/tree/main/libraries
# https://github.com/svix/svix-webhooks/blob/main/server/svix-server/src/worker.rs
STANDARD_ID, STANDARD_STAMP = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"
STANDARD_BODY = b'{"test": 2432232314}'
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
STANDARD_V1 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
STANDARD_PUBLIC_KEY = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
STANDARD_V1A = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
DECOYS = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="

# https://github.com/mailersend/mailersend-nodejs/blob/main/src/__tests__/services/mailersend.utils.test.ts
MAILERSEND_SECRET = "yXdTVu1YewsKiuN2bcILlFHsljmR9kaU"
MAILERSEND_SIGNATURE = "445e75aab3d8ea9169d134189a2814f06858977bd9cdc69324264e39f47bda2e"
MAILERSEND_BODY = (
    b'{"type":"activity.sent","domain_id":"test_domain","created_at":"2022-09-08T20:06:12.062074Z",'
    rb'"webhook_id":"webhook_test","url":"https:\/\/webhook.site\/test","data":{"object":"activity",'
    b'"id":"631a6250bd4f6bd6844a2307","type":"sent","created_at":"2022-09-08T20:06:12.051000Z",'
    b'"email":{"object":"email","id":"631a6250bd4f6bd6844a2307","created_at":"2022-09-08T20:06:11.887000Z",'
    b'"from":"donotreply@mailsender.com","subject":"Test Message","status":"sent","tags":null,'
    b'"message":{"object":"message","id":"631a6250bd4f6bd6844a2307","created_at":"2022-09-08T20:06:11.399000Z"},'
    b'"recipient":{"object":"recipient","id":"631a6250bd4f6bd6844a2307","email":"test@test.com",'
    b'"created_at":"2022-03-31T21:31:37.304000Z"}},"morph":null,"template_id":""}}'
)


def prove(provider: str, secrets: Sequence[str], body: bytes, headers: Mapping[str, str], *, stamp: str = "0") -> Proof:
    """Verify a request that arrives when it is stamped."""
    source = Source(name="vector", provider=provider)
    request = Request(
        source_name="vector",
        method="POST",
        headers={name.lower(): value for name, value in headers.items()},
        body=body,
        received_at=datetime.fromtimestamp(int(stamp), UTC),
    )
    verify = REGISTRY[provider].verify
    assert verify
    return verify(request, source, secrets)


def sendgrid(
    *, key: str = SENDGRID_KEY, signature: str = SENDGRID_SIGNATURE, stamp: str = SENDGRID_STAMP, **change: Any
) -> Proof:
    headers = {
        "X-Twilio-Email-Event-Webhook-Signature": signature,
        "X-Twilio-Email-Event-Webhook-Timestamp": stamp,
    }
    return prove("sendgrid", [key], change.get("body", SENDGRID_BODY), headers, stamp=SENDGRID_STAMP)


def mailgun(stamp: str, token: str, signature: str, *, key: str = MAILGUN_KEY) -> Proof:
    body = f'{{"signature":{{"timestamp":"{stamp}","token":"{token}","signature":"{signature}"}},"event-data":{{}}}}'
    return prove("mailgun", [key], body.encode(), {}, stamp=stamp)


def standard(provider: str, secret: str, signature: str, *, body: bytes = STANDARD_BODY, **change: str) -> Proof:
    brand = "svix" if provider == "resend" else "webhook"
    headers = {
        f"{brand}-id": change.get("id", STANDARD_ID),
        f"{brand}-timestamp": change.get("stamp", STANDARD_STAMP),
        f"{brand}-signature": signature,
    }
    return prove(provider, [secret], body, headers, stamp=STANDARD_STAMP)


def mailersend(*, secret: str = MAILERSEND_SECRET, signature: str = MAILERSEND_SIGNATURE, **change: bytes) -> Proof:
    return prove("mailersend", [secret], change.get("body", MAILERSEND_BODY), {"Signature": signature})


def test_sendgrid() -> None:
    assert sendgrid().scheme == "ecdsa-p256-sha256"


@pytest.mark.parametrize(
    "flaw",
    [
        {"key": SENDGRID_OTHER_KEY},
        {"signature": SENDGRID_OTHER_SIGNATURE},
        {"body": SENDGRID_BODY.removesuffix(b"\r\n")},
        {"body": SENDGRID_BODY.replace(b"\r\n", b"\n")},
        {"stamp": "1600112503"},
    ],
    ids=["key", "signature", "no CRLF", "LF", "stamp"],
)
def test_sendgrid_with_a_flaw(flaw: dict[str, Any]) -> None:
    with pytest.raises(VerificationError):
        sendgrid(**flaw)


@pytest.mark.parametrize("vector", MAILGUN, ids=[stamp for stamp, _, _ in MAILGUN])
def test_mailgun(vector: tuple[str, str, str]) -> None:
    assert mailgun(*vector).scheme == "hmac-sha256"


def test_mailgun_with_a_flaw() -> None:
    (stamp, token, signature), (_, other_token, other_signature), _ = MAILGUN
    for flawed in [(stamp, token, other_signature), (stamp, other_token, signature), ("1661621788", token, signature)]:
        with pytest.raises(VerificationError):
            mailgun(*flawed)
    with pytest.raises(VerificationError):
        mailgun(stamp, token, signature, key="key-0p6mqbf74lb20gzq9f4dhpn9rg3zyk27")


@pytest.mark.parametrize("provider", ["standardwebhooks", "resend"])
@pytest.mark.parametrize(
    ("secret", "signature", "scheme"),
    [
        (STANDARD_SECRET, STANDARD_V1, "hmac-sha256"),
        (STANDARD_SECRET, f"{DECOYS} {STANDARD_V1} {DECOYS}", "hmac-sha256"),
        (STANDARD_PUBLIC_KEY, STANDARD_V1A, "ed25519"),
        (STANDARD_PUBLIC_KEY, f"{STANDARD_V1} {STANDARD_V1A}", "ed25519"),
    ],
    ids=["v1", "v1 among decoys", "v1a", "v1 and v1a"],
)
def test_standard_webhooks(provider: str, secret: str, signature: str, scheme: str) -> None:
    assert standard(provider, secret, signature).scheme == scheme


@pytest.mark.parametrize("provider", ["standardwebhooks", "resend"])
@pytest.mark.parametrize(
    ("secret", "signature", "change"),
    [
        (STANDARD_SECRET, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OA=", {}),
        (STANDARD_SECRET, DECOYS, {}),
        (STANDARD_SECRET, STANDARD_V1A, {}),
        (STANDARD_PUBLIC_KEY, STANDARD_V1, {}),
        (STANDARD_PUBLIC_KEY, STANDARD_V1A[:-4] + "AAA=", {}),
        (STANDARD_SECRET, STANDARD_V1, {"body": b'{"test":2432232314}'}),
        (STANDARD_SECRET, STANDARD_V1, {"id": "msg_p5jXN8AQM9LWM0D4loKWxJel"}),
        (STANDARD_SECRET, STANDARD_V1, {"stamp": "1614265331"}),
    ],
    ids=["last byte", "decoys", "v1a, HMAC key", "v1, public key", "v1a tail", "spaces", "id", "stamp"],
)
def test_standard_webhooks_with_a_flaw(provider: str, secret: str, signature: str, change: dict[str, Any]) -> None:
    with pytest.raises(VerificationError):
        standard(provider, secret, signature, **change)


def test_mailersend() -> None:
    assert mailersend().scheme == "hmac-sha256"


@pytest.mark.parametrize(
    "flaw",
    [
        {"body": MAILERSEND_BODY.replace(rb"\/", b"/")},
        {"body": MAILERSEND_BODY + b"\n"},
        {"secret": "yXdTVu1YewsKiuN2bcILlFHsljmR9kaV"},
        {"signature": MAILERSEND_SIGNATURE[:-1] + "f"},
    ],
    ids=["slashes", "line feed", "secret", "signature"],
)
def test_mailersend_with_a_flaw(flaw: dict[str, Any]) -> None:
    with pytest.raises(VerificationError):
        mailersend(**flaw)
