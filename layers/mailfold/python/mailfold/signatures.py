"""The checks that prove a sender; each returns a Proof or raises VerificationError, and nothing else."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

from mailfold.decoding import LONGEST_HEADER, as_bytes, decoded, well_formed
from mailfold.errors import VerificationError

#: How a secret begins that is sent as it is instead of being signed with.
CREDENTIALS = ("basic:", "bearer:", "header:")
#: Of the signatures that cannot share one hash of the body: the old key's and the new one's.
MOST_ED25519 = 2
DIGEST_BYTES = {"md5": 16, "sha1": 20, "sha256": 32, "sha512": 64}
ED25519_BYTES = 64
#: Two numbers of 33 bytes at most, in DER.
LONGEST_P256 = 72
#: Public keys that are kept parsed, by their text, so that a rotated key is simply another one.
PARSED_KEYS = 64

_HEX = frozenset("0123456789abcdef")
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
    return prove_any_hmac(
        secrets=secrets, message=message, signatures=(signature,), algorithm=algorithm, encoding=encoding
    )


def prove_any_hmac(
    *,
    secrets: Sequence[str | bytes],
    message: Iterable[bytes],
    signatures: Sequence[str],
    algorithm: str = "sha256",
    encoding: str = "hex",
) -> Proof:
    """Prove any one of several HMACs of one message; each secret hashes it once, however many signatures there are.

    The message is not even joined unless one of the signatures has the right form, so it may be made on demand.
    """
    given = well_formed(signatures, encoding, DIGEST_BYTES[algorithm])
    signed = b"".join(message)
    computed = [hmac.digest(as_bytes(secret), signed, algorithm) for secret in secrets]
    # Every pair is compared even after a match: the time taken says nothing about which one matched.
    matches = [hmac.compare_digest(ours, theirs) for ours in computed for theirs in given]
    return _proof_if(True in matches, f"hmac-{algorithm}")


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
        return bool(value) and len(sent) <= LONGEST_HEADER and hmac.compare_digest(as_bytes(value), as_bytes(sent))
    sent = headers.get("authorization", "")
    given_scheme, _, given = sent.strip().partition(" ")
    # A user without a password is a credential, and so is the reverse; nothing at all is none.
    if not rest.strip(":") or given_scheme.lower() != scheme or len(sent) > LONGEST_HEADER:
        return False
    if scheme == "bearer":
        return hmac.compare_digest(as_bytes(rest), as_bytes(given.strip()))
    if scheme == "basic":
        return hmac.compare_digest(base64.b64encode(as_bytes(rest)), as_bytes(given.strip()))
    return False


def prove_digest(*, secrets: Sequence[str], body: bytes, given: str, algorithm: str = "md5") -> Proof:
    """Prove a body whose own digest, in hex, stands in the place of the secret that it was computed with."""
    # Only as strong as the provider made it: the digest is not an HMAC, and MD5 is what Unisender Go computes.
    placeholder = as_bytes(given)
    if not _HEX.issuperset(given) or len(given) != 2 * DIGEST_BYTES[algorithm] or body.count(placeholder) != 1:
        raise VerificationError
    candidates = [hashlib.new(algorithm, body.replace(placeholder, as_bytes(secret))).hexdigest() for secret in secrets]
    matches = [hmac.compare_digest(as_bytes(candidate), placeholder) for candidate in candidates]
    return _proof_if(any(matches), f"digest-{algorithm}")


def prove_ecdsa(*, public_keys: Sequence[str], message: Iterable[bytes], signature: str) -> Proof:
    """Prove a base64 DER ECDSA P-256/SHA-256 signature with any one of the base64 DER public keys."""
    given = decoded(signature, "base64")
    if not _is_ecdsa_signature(given):
        raise VerificationError
    hashed = _hashed(message, "sha256")
    return _proof_if(any(_ecdsa_matches(key, hashed, given) for key in public_keys), "ecdsa-p256-sha256")


def prove_any_ed25519(*, public_keys: Sequence[bytes], message: Iterable[bytes], signatures: Sequence[str]) -> Proof:
    """Prove any one of a few base64 Ed25519 signatures with any one of the raw public keys."""
    # What is hashed begins with the signature, so that each one hashes the whole message again for each key.
    given = well_formed(signatures, "base64", ED25519_BYTES, most=MOST_ED25519)
    signed = b"".join(message)
    matches = (_ed25519_matches(key, signed, one) for key in public_keys for one in given)
    return _proof_if(any(matches), "ed25519")


def prove_rsa(*, public_keys: Sequence[str], message: Iterable[bytes], signature: str, algorithm: str) -> Proof:
    """Prove a base64 RSA PKCS#1 v1.5 signature with any one of the keys: PEM or base64 DER, or a PEM certificate."""
    given = decoded(signature, "base64")
    fitting = [key for key in public_keys if _rsa_bytes(key) == len(given)]
    if not fitting:
        raise VerificationError
    hashed = _hashed(message, algorithm)
    return _proof_if(any(_rsa_matches(key, hashed, given, algorithm) for key in fitting), f"rsa-{algorithm}")


def _is_ecdsa_signature(signature: bytes) -> bool:
    try:
        return len(signature) <= LONGEST_P256 and min(_ecdsa().numbers_of(signature)) > 0
    except ValueError:
        return False


def _ecdsa_matches(public_key: str, hashed: bytes, signature: bytes) -> bool:
    try:
        _load_ecdsa(public_key).verify(signature, hashed, _ecdsa().algorithm)
    except (ValueError, _ecdsa().mismatch):
        return False
    return True


class _Ecdsa(NamedTuple):
    """What the check of an ECDSA signature needs."""

    numbers_of: Callable[[bytes], tuple[int, int]]
    algorithm: Any
    mismatch: type[Exception]


@cache
def _ecdsa() -> _Ecdsa:
    # Loaded on first use: functions that never meet this scheme start without it.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    return _Ecdsa(decode_dss_signature, ec.ECDSA(Prehashed(SHA256())), InvalidSignature)


@lru_cache(PARSED_KEYS)
def _load_ecdsa(text: str) -> Any:
    """Return a public key of ECDSA; ValueError where the text is none, which is not kept."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

    try:
        key = _load_der(text)
    except UnsupportedAlgorithm as exc:
        raise ValueError from exc
    if not isinstance(key, EllipticCurvePublicKey):
        raise ValueError  # noqa: TRY004 - one failure for every text that is no such key
    return key


def _ed25519_matches(public_key: bytes, message: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _rsa_bytes(public_key: str) -> int | None:
    """Return the length of a signature by this key; None where it is no RSA key."""
    try:
        bits: int = _load_rsa(public_key).key_size
    except ValueError:
        return None
    return (bits + 7) // 8


def _rsa_matches(public_key: str, hashed: bytes, signature: bytes, algorithm: str) -> bool:
    padding, prehashed, mismatch = _rsa()
    try:
        _load_rsa(public_key).verify(signature, hashed, padding, prehashed[algorithm])
    except mismatch:
        return False
    return True


@cache
def _rsa() -> tuple[Any, Mapping[str, Any], type[Exception]]:
    """Return the padding, the algorithms and the error of a mismatch."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

    # SHA-1 is what senders that predate 2022 still sign with; each adapter decides whether it is acceptable.
    sha1 = Prehashed(hashes.SHA1())  # noqa: S303  # nosec B303
    return PKCS1v15(), {"sha1": sha1, "sha256": Prehashed(hashes.SHA256())}, InvalidSignature


@lru_cache(PARSED_KEYS)
def _load_rsa(text: str) -> Any:
    """Return an RSA key; ValueError where the text is none, which is not kept."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from cryptography.x509 import load_pem_x509_certificate

    key: object
    try:
        if "BEGIN CERTIFICATE" in text:
            key = load_pem_x509_certificate(text.encode()).public_key()
        elif "BEGIN" in text:
            key = load_pem_public_key(text.encode())
        else:
            key = _load_der(text)
    except UnsupportedAlgorithm as exc:
        raise ValueError from exc
    if not isinstance(key, RSAPublicKey):
        raise ValueError  # noqa: TRY004 - one failure for every text that is no such key
    return key


@lru_cache(PARSED_KEYS)
def _load_der(text: str) -> object:
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    return load_der_public_key(base64.b64decode(text))


def _hashed(message: Iterable[bytes], algorithm: str) -> bytes:
    """Hash a message once for all public keys."""
    return hashlib.new(algorithm, b"".join(message)).digest()


def _proof_if(matched: bool, scheme: str) -> Proof:
    if not matched:
        raise VerificationError
    return Proof(scheme, mint=_MINT)
