"""The least that a receiver must do with a request, manually: verify the bytes, read the JSON, write the JSON."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from samples import mandrill

#: Takes an event of API Gateway and returns the text that would be queued.
Bare = Callable[[Mapping[str, Any]], str]


def ecdsa(secret: str) -> Bare:
    """SendGrid."""
    key = load_der_public_key(base64.b64decode(secret))
    assert isinstance(key, ec.EllipticCurvePublicKey)
    scheme = ec.ECDSA(SHA256())

    def receive(event: Mapping[str, Any]) -> str:
        headers, body = event["headers"], event["body"].encode()
        signature = base64.b64decode(headers["x-twilio-email-event-webhook-signature"])
        key.verify(signature, headers["x-twilio-email-event-webhook-timestamp"].encode() + body, scheme)
        return json.dumps(json.loads(body))

    return receive


def rsa_sha256(secret: str) -> Bare:
    """Postal."""
    key = load_der_public_key(base64.b64decode(secret))
    assert isinstance(key, rsa.RSAPublicKey)
    pad, digest = padding.PKCS1v15(), SHA256()

    def receive(event: Mapping[str, Any]) -> str:
        body = event["body"].encode()
        key.verify(base64.b64decode(event["headers"]["x-postal-signature-256"]), body, pad, digest)
        return json.dumps(json.loads(body))

    return receive


def hmac_sha256(secret: str) -> Bare:
    """SESMetric."""
    key = secret.encode()

    def receive(event: Mapping[str, Any]) -> str:
        headers, body = event["headers"], event["body"].encode()
        message = headers["x-sesmetric-timestamp"].encode() + b"." + body
        _insist(hmac.digest(key, message, "sha256").hex(), headers["x-sesmetric-signature"])
        return json.dumps(json.loads(body))

    return receive


def hmac_sha1_form(secret: str) -> Bare:
    """Mandrill."""
    key = secret.encode()
    url = str(mandrill.OPTIONS["url"])

    def receive(event: Mapping[str, Any]) -> str:
        form = sorted(parse_qsl(event["body"]))
        message = url + "".join(name + value for name, value in form)
        digest = hmac.digest(key, message.encode(), "sha1")
        _insist(base64.b64encode(digest).decode(), event["headers"]["x-mandrill-signature"])
        return json.dumps(json.loads(dict(form)["mandrill_events"]))

    return receive


def md5(secret: str) -> Bare:
    """Unisender Go."""

    def receive(event: Mapping[str, Any]) -> str:
        body = event["body"]
        parsed = json.loads(body)
        _insist(hashlib.md5(body.replace(parsed["auth"], secret).encode()).hexdigest(), parsed["auth"])  # noqa: S324  # nosec B324 - as the provider does
        return json.dumps(parsed["events_by_user"])

    return receive


def credential(secret: str) -> Bare:
    """Postmark and SparkPost."""
    expected = "Basic " + base64.b64encode(secret.removeprefix("basic:").encode()).decode()

    def receive(event: Mapping[str, Any]) -> str:
        _insist(expected, event["headers"]["authorization"])
        return json.dumps(json.loads(event["body"]))

    return receive


def standard_hmac(secret: str) -> Bare:
    """Standard Webhooks with a shared secret."""
    key = base64.b64decode(secret.removeprefix("whsec_"))

    def receive(event: Mapping[str, Any]) -> str:
        body = event["body"].encode()
        digest = hmac.digest(key, _standard_message(event["headers"], body), "sha256")
        _insist("v1," + base64.b64encode(digest).decode(), event["headers"]["webhook-signature"])
        return json.dumps(json.loads(body))

    return receive


def standard_ed25519(secret: str) -> Bare:
    """Standard Webhooks with a key pair."""
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(secret.removeprefix("whpk_")))

    def receive(event: Mapping[str, Any]) -> str:
        body = event["body"].encode()
        signature = event["headers"]["webhook-signature"].removeprefix("v1a,")
        key.verify(base64.b64decode(signature), _standard_message(event["headers"], body))
        return json.dumps(json.loads(body))

    return receive


def _standard_message(headers: Mapping[str, str], body: bytes) -> bytes:
    return f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body


def _insist(expected: str, given: str) -> None:
    if not hmac.compare_digest(expected, given):
        raise ValueError("the request is not signed")
