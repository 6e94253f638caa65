"""The checks that prove a sender: published vectors pass, and every other thing is the one same refusal."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from mailfold import signatures
from mailfold.errors import VerificationError
from mailfold.signatures import PARSED_KEYS, Proof, check_fresh, prove_ecdsa, prove_hmac, prove_rsa
from samples import postal, sendgrid

# The vector that SendGrid's own libraries test with:
# https://github.com/sendgrid/sendgrid-python/blob/main/test/unit/test_eventwebhook.py
KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eN"
    "Ec6wEA3F+g=="
)
OTHER_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqTxd43gyp8IOEto2LdIfjRQrIbsd4SXZkLW6jDutdhXSJCWHw8REntlo7aNDthvj+y7GjUuFDb/R"
    "1NGe1OPzpA=="
)
STAMP = b"1600112502"
SIGNATURE = "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM="
OTHER_SIGNATURE = "MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH3j/0="
BODY = (
    b'[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address",'
    b'"sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",'
    b'"sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",'
    b'"smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n'
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "s3cret"


def prove_vector(
    *, keys: list[str] | None = None, stamp: bytes = STAMP, body: bytes = BODY, signature: str = SIGNATURE
) -> Proof:
    return prove_ecdsa(public_keys=keys or [KEY], message=(stamp, body), signature=signature)


def hmac_of(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def test_the_published_vector_passes() -> None:
    assert prove_vector().scheme == "ecdsa-p256-sha256"


@pytest.mark.parametrize(
    "change",
    [
        {"keys": [OTHER_KEY]},
        {"keys": ["not base64!"]},
        {"keys": [base64.b64encode(b"no key").decode()]},
        {"signature": OTHER_SIGNATURE},
        {"signature": "!"},
        {"signature": "é"},
        {"signature": " " + SIGNATURE},
        {"body": BODY.rstrip()},
        {"body": BODY + b" "},
        {"body": b""},
        {"stamp": b"1600112503"},
    ],
    ids=lambda change: f"{next(iter(change))} {str(next(iter(change.values())))[-9:]}",
)
def test_what_differs_from_the_published_vector_fails(change: dict[str, object]) -> None:
    with pytest.raises(VerificationError):
        prove_vector(**change)  # type: ignore[arg-type]


def test_no_key_at_all_proves_nothing() -> None:
    with pytest.raises(VerificationError):
        prove_ecdsa(public_keys=[], message=(STAMP, BODY), signature=SIGNATURE)
    with pytest.raises(VerificationError):
        prove_hmac(secrets=[], message=(b"a",), signature=hmac_of(b"a"))


def test_each_flipped_byte_of_the_body_fails() -> None:
    for position in range(len(BODY)):
        flipped = bytes(byte ^ (index == position) for index, byte in enumerate(BODY))
        with pytest.raises(VerificationError):
            prove_vector(body=flipped)


def test_each_flipped_byte_of_the_signature_fails() -> None:
    signature = base64.b64decode(SIGNATURE)

    for position in range(len(signature)):
        flipped = bytes(byte ^ (index == position) for index, byte in enumerate(signature))
        with pytest.raises(VerificationError):
            prove_vector(signature=base64.b64encode(flipped).decode())


@pytest.mark.parametrize("keys", [[KEY, OTHER_KEY], [OTHER_KEY, KEY], ["broken", KEY]], ids=["new", "old", "broken"])
def test_any_key_of_a_rotation_will_do(keys: list[str]) -> None:
    assert prove_vector(keys=keys)


@pytest.mark.parametrize("secrets", [[SECRET], [SECRET, "old"], ["new", SECRET]], ids=len)
def test_any_secret_of_a_rotation_will_do(secrets: list[str]) -> None:
    assert prove_hmac(secrets=secrets, message=(b"a", b"b"), signature=hmac_of(b"ab")).scheme == "hmac-sha256"


@pytest.mark.parametrize(
    "signature",
    ["", "0", "zz", "é", hmac_of(b"ac"), hmac_of(b"ab", "other"), hmac_of(b"ab")[:-2], hmac_of(b"ab") + "00", "\ud800"],
    ids=ascii,
)
def test_a_wrong_hmac_fails(signature: str) -> None:
    with pytest.raises(VerificationError):
        prove_hmac(secrets=[SECRET], message=(b"a", b"b"), signature=signature)


@given(st.text(), st.binary())
def test_no_signature_whatever_gets_anything_but_the_refusal(signature: str, body: bytes) -> None:
    with pytest.raises(VerificationError):
        prove_hmac(secrets=[SECRET], message=(body,), signature=signature)
    with pytest.raises(VerificationError):
        prove_ecdsa(public_keys=[KEY], message=(body,), signature=signature)


def test_a_key_of_another_kind_proves_nothing() -> None:
    public = Ed25519PrivateKey.generate().public_key()
    other_kind = base64.b64encode(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()

    with pytest.raises(VerificationError):
        prove_vector(keys=[other_kind])


def test_a_key_is_parsed_once_and_a_rotated_one_is_another() -> None:
    signatures._load_ecdsa.cache_clear()

    for _ in range(3):
        prove_vector()
        with pytest.raises(VerificationError):
            prove_vector(keys=[OTHER_KEY])
        assert prove_vector(keys=[OTHER_KEY, KEY])

    assert signatures._load_ecdsa.cache_info().misses == 2


def test_a_broken_key_is_refused_each_time_and_never_kept() -> None:
    signatures._load_ecdsa.cache_clear()

    for _ in range(3):
        with pytest.raises(VerificationError):
            prove_vector(keys=["broken"])

    assert signatures._load_ecdsa.cache_info().currsize == 0


def test_a_key_parsed_for_one_scheme_proves_nothing_by_another() -> None:
    keys = postal.make_keys()
    signature = postal.sign(BODY, keys, NOW)["X-Postal-Signature-256"]

    assert prove_rsa(public_keys=[keys.secret], message=(BODY,), signature=signature, algorithm="sha256")
    with pytest.raises(VerificationError):
        prove_ecdsa(public_keys=[keys.secret], message=(BODY,), signature=signature)
    with pytest.raises(VerificationError):
        prove_rsa(public_keys=[KEY], message=(BODY,), signature=signature, algorithm="sha256")


def test_the_parsed_keys_are_bounded() -> None:
    assert signatures._load_ecdsa.cache_info().maxsize == PARSED_KEYS
    assert signatures._load_rsa.cache_info().maxsize == PARSED_KEYS


def test_the_samples_sign_as_sendgrid_does() -> None:
    keys = sendgrid.make_keys()

    headers = sendgrid.sign(BODY, keys, NOW)

    stamp = headers["X-Twilio-Email-Event-Webhook-Timestamp"].encode()
    signature = headers["X-Twilio-Email-Event-Webhook-Signature"]
    assert prove_ecdsa(public_keys=[keys.secret], message=(stamp, BODY), signature=signature)


@pytest.mark.parametrize("seconds", [-300, -1, 0, 1, 300])
def test_a_stamp_within_the_tolerance_is_fresh(seconds: int) -> None:
    check_fresh(str(int(NOW.timestamp()) + seconds), now=NOW, tolerance_s=300)


@pytest.mark.parametrize("seconds", [-301, 301, -(10**9), 10**9])
def test_a_stamp_beyond_the_tolerance_is_stale_in_either_direction(seconds: int) -> None:
    with pytest.raises(VerificationError):
        check_fresh(str(int(NOW.timestamp()) + seconds), now=NOW, tolerance_s=300)


@pytest.mark.parametrize(
    "stamp", ["", " 1767225600", "1_767225600", "+1767225600", "1767225600.0", "١٧٦٧٢٢٥٦٠٠", "9" * 400]
)
def test_a_stamp_that_no_provider_sends_is_refused(stamp: str) -> None:
    with pytest.raises(VerificationError):
        check_fresh(stamp, now=NOW, tolerance_s=10**12)


@pytest.mark.parametrize("mint", [None, object(), True])
def test_nobody_else_can_make_a_proof(mint: object) -> None:
    with pytest.raises(TypeError):
        Proof("hmac-sha256", mint=mint)
