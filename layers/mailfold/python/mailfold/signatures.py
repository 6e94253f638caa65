"""The checks that prove a sender; each returns a Proof or raises VerificationError, and nothing else."""

import base64
import contextlib
import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from secrets import token_bytes

from mailfold.errors import VerificationError

#: How a secret begins that is sent as it is instead of being signed with.
CREDENTIALS = ("basic:", "bearer:", "header:")
#: Public keys that are kept parsed, by their text, so that a rotated key is simply another one.
PARSED_KEYS = 64

_MINT = object()


class Proof:
    """Evidence that one of this module's checks passed; nobody else can make one."""

    __slots__ = ("scheme",)

    def __init__(self, scheme: str, *, mint: object) -> None:
        if mint is not _MINT:
            raise TypeError("a Proof comes only from a check in mailfold.signatures")
        self.scheme = scheme


def check_fresh(stamp: str, *, now: datetime, tolerance_s: int) -> None:
    """Refuse a Unix timestamp, in seconds, that is further from now than the tolerance, in either direction."""
    # int() also reads "1_0", " 1" and other scripts' digits, which no provider sends.
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
        raise VerificationError
    if abs(now.timestamp() - int(stamp)) > tolerance_s:
        raise VerificationError


def prove_hmac(
    *,
    secrets: Sequence[str | bytes],
    message: Iterable[bytes],
    signature: str,
    algorithm: str = "sha256",
    encoding: str = "hex",
) -> Proof:
    """Prove an HMAC, in hex or base64, over the joined parts of the message with any one of the secrets."""
    given = _decoded(signature, encoding)
    signed = b"".join(message)
    # Every secret is tried even after a match: the time taken says nothing about which one matched.
    matches = [hmac.compare_digest(hmac.digest(_bytes(secret), signed, algorithm), given) for secret in secrets]
    return _proof_if(any(matches), f"hmac-{algorithm}")


def prove_credential(*, secrets: Sequence[str], headers: Mapping[str, str]) -> Proof:
    """Prove a credential for providers that sign nothing; each secret says where it is sent.

    ``basic:user:password`` and ``bearer:token`` come in Authorization, ``header:Name:value`` in a header of its own.
    """
    matches = [_credential_matches(secret, headers) for secret in secrets]
    return _proof_if(any(matches), "credential")


def _credential_matches(secret: str, headers: Mapping[str, str]) -> bool:
    scheme, _, rest = secret.partition(":")
    if scheme == "header":
        name, _, value = (part.strip() for part in rest.partition(":"))
        sent = headers.get(name.lower(), "")
        return bool(value) and hmac.compare_digest(_bytes(value), _bytes(sent))
    given_scheme, _, given = headers.get("authorization", "").strip().partition(" ")
    if not rest or given_scheme.lower() != scheme:
        return False
    if scheme == "bearer":
        return hmac.compare_digest(_bytes(rest), _bytes(given.strip()))
    if scheme == "basic":
        return hmac.compare_digest(base64.b64encode(_bytes(rest)), _bytes(given.strip()))
    return False


def prove_digest(*, secrets: Sequence[str], body: bytes, given: str, algorithm: str = "md5") -> Proof:
    """Prove a body whose own digest, in hex, stands in the place of the secret that it was computed with."""
    # Only as strong as the provider made it: the digest is not an HMAC, and MD5 is what Unisender Go computes.
    placeholder = _bytes(given)
    if not placeholder or body.count(placeholder) != 1:
        raise VerificationError
    candidates = [hashlib.new(algorithm, body.replace(placeholder, _bytes(secret))).hexdigest() for secret in secrets]
    matches = [hmac.compare_digest(_bytes(candidate), placeholder) for candidate in candidates]
    return _proof_if(any(matches), f"digest-{algorithm}")


def prove_standard_webhook(
    *, secrets: Sequence[str], message_id: str, stamp: str, body: bytes, signatures: str
) -> Proof:
    """Prove a request of the Standard Webhooks scheme: any one of its signatures with any one of the secrets.

    ``whsec_`` secrets are HMAC keys and match ``v1`` signatures; ``whpk_`` ones are Ed25519 keys and match ``v1a``.
    https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
    """
    # A dot in either would let one signature stand for two requests, cut apart in different places.
    if "." in message_id or "." in stamp:
        raise VerificationError
    message = (_bytes(message_id), b".", _bytes(stamp), b".", body)
    tokens = [token.partition(",") for token in signatures.split(" ")]
    for version, _, signature in tokens:
        with contextlib.suppress(VerificationError):
            if version == "v1":
                keys = [_key_bytes(secret) for secret in secrets if not secret.startswith("whpk_")]
                return prove_hmac(secrets=keys, message=message, signature=signature, encoding="base64")
            if version == "v1a":
                keys = [_key_bytes(secret) for secret in secrets if secret.startswith("whpk_")]
                return prove_ed25519(public_keys=keys, message=message, signature=signature)
    raise VerificationError


def _key_bytes(secret: str) -> bytes:
    """Return the bytes of a prefixed base64 secret; its padding is optional."""
    text = secret.removeprefix("whsec_").removeprefix("whpk_")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        key = b""
    # A secret that is not base64, or holds nothing, was pasted wrongly; anybody could sign with an empty key.
    return key or token_bytes(32)


def prove_ecdsa(*, public_keys: Sequence[str], message: Iterable[bytes], signature: str) -> Proof:
    """Prove a base64 DER ECDSA P-256/SHA-256 signature with any one of the base64 DER public keys."""
    given = _decoded(signature, "base64")
    signed = b"".join(message)
    return _proof_if(any(_ecdsa_matches(key, signed, given) for key in public_keys), "ecdsa-p256-sha256")


def prove_ed25519(*, public_keys: Sequence[bytes], message: Iterable[bytes], signature: str) -> Proof:
    """Prove a base64 Ed25519 signature with any one of the raw public keys."""
    given = _decoded(signature, "base64")
    signed = b"".join(message)
    return _proof_if(any(_ed25519_matches(key, signed, given) for key in public_keys), "ed25519")


def prove_rsa(*, public_keys: Sequence[str], message: Iterable[bytes], signature: str, algorithm: str) -> Proof:
    """Prove a base64 RSA PKCS#1 v1.5 signature with any one of the keys: PEM or base64 DER, or a PEM certificate."""
    given = _decoded(signature, "base64")
    signed = b"".join(message)
    return _proof_if(any(_rsa_matches(key, signed, given, algorithm) for key in public_keys), f"rsa-{algorithm}")


def _ecdsa_matches(public_key: str, message: bytes, signature: bytes) -> bool:
    # Loaded on first use: functions that never meet this scheme start without it.
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256

    try:
        key = _load_der(public_key)
    except (ValueError, UnsupportedAlgorithm):
        return False
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return False
    try:
        key.verify(signature, message, ec.ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


def _ed25519_matches(public_key: bytes, message: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _rsa_matches(public_key: str, message: bytes, signature: bytes, algorithm: str) -> bool:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    # SHA-1 is what senders that predate 2022 still sign with; each adapter decides whether it is acceptable.
    known: dict[str, hashes.HashAlgorithm] = {"sha1": hashes.SHA1(), "sha256": hashes.SHA256()}  # noqa: S303
    try:
        key = _load_rsa(public_key)
        if not isinstance(key, rsa.RSAPublicKey):
            return False
        key.verify(signature, message, padding.PKCS1v15(), known[algorithm])
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True


@lru_cache(PARSED_KEYS)
def _load_rsa(text: str) -> object:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from cryptography.x509 import load_pem_x509_certificate

    if "BEGIN CERTIFICATE" in text:
        return load_pem_x509_certificate(text.encode()).public_key()
    if "BEGIN" in text:
        return load_pem_public_key(text.encode())
    return _load_der(text)


@lru_cache(PARSED_KEYS)
def _load_der(text: str) -> object:
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    return load_der_public_key(base64.b64decode(text))


def _decoded(text: str, encoding: str) -> bytes:
    try:
        if encoding == "hex":
            return bytes.fromhex(text) if len(text) % 2 == 0 and " " not in text else b""
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, ValueError):
        raise VerificationError from None


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def _proof_if(matched: bool, scheme: str) -> Proof:
    if not matched:
        raise VerificationError
    return Proof(scheme, mint=_MINT)
