"""The checks that prove a sender; each returns a Proof or raises VerificationError, and nothing else."""

import base64
import binascii
import hmac
from collections.abc import Iterable, Sequence
from datetime import datetime

from mailfold.errors import VerificationError

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


def prove_hmac(*, secrets: Sequence[str], message: Iterable[bytes], signature: str, algorithm: str = "sha256") -> Proof:
    """Prove a hex HMAC over the joined parts of the message with any one of the secrets."""
    given = signature.encode("ascii", "replace")
    signed = b"".join(message)
    # Every secret is tried even after a match: the time taken says nothing about which one matched.
    matches = [
        hmac.compare_digest(hmac.new(secret.encode(), signed, algorithm).hexdigest().encode(), given)
        for secret in secrets
    ]
    return _proof_if(any(matches), f"hmac-{algorithm}")


def prove_ecdsa(*, public_keys: Sequence[str], message: Iterable[bytes], signature: str) -> Proof:
    """Prove a base64 DER ECDSA P-256/SHA-256 signature with any one of the base64 DER public keys."""
    given = _base64(signature)
    signed = b"".join(message)
    return _proof_if(any(_ecdsa_matches(key, signed, given) for key in public_keys), "ecdsa-p256-sha256")


def _ecdsa_matches(public_key: str, message: bytes, signature: bytes) -> bool:
    # Loaded on first use: functions that never meet this scheme start without it.
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        key = load_der_public_key(base64.b64decode(public_key))
    except (ValueError, UnsupportedAlgorithm):
        return False
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return False
    try:
        key.verify(signature, message, ec.ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        raise VerificationError from None


def _proof_if(matched: bool, scheme: str) -> Proof:
    if not matched:
        raise VerificationError
    return Proof(scheme, mint=_MINT)
