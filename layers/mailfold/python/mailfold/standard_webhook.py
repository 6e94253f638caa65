"""The Standard Webhooks scheme: several signatures in one header, of two kinds, over id, timestamp and body."""

import base64
from collections.abc import Iterable, Sequence
from functools import lru_cache
from secrets import token_bytes

from mailfold.decoding import MOST_SIGNATURES, as_bytes
from mailfold.errors import VerificationError
from mailfold.signatures import PARSED_KEYS, Proof, prove_any_ed25519, prove_any_hmac

_PUBLIC = "whpk_"


def prove_standard_webhook(
    *, secrets: Sequence[str], message_id: str, stamp: str, body: bytes, signatures: str
) -> Proof:
    """Prove a request by any one of its signatures with any one of the secrets.

    ``whsec_`` secrets are HMAC keys and match ``v1`` signatures; ``whpk_`` ones are Ed25519 keys and match ``v1a``.
    https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
    """
    tokens = [token.partition(",") for token in signatures.split(" ", MOST_SIGNATURES)]
    # A dot in either would let one signature stand for two requests, cut apart in different places.
    if len(tokens) > MOST_SIGNATURES or "." in message_id or "." in stamp:
        raise VerificationError
    message = (as_bytes(message_id), b".", as_bytes(stamp), b".", body)
    symmetric = [_key_bytes(secret) for secret in secrets if not secret.startswith(_PUBLIC)]
    public = [_key_bytes(secret) for secret in secrets if secret.startswith(_PUBLIC)]
    try:
        return prove_any_hmac(
            secrets=symmetric, message=message, signatures=_of_version("v1", tokens), encoding="base64"
        )
    except VerificationError:
        if not public:
            raise
    return prove_any_ed25519(public_keys=public, message=message, signatures=_of_version("v1a", tokens))


def _of_version(wanted: str, tokens: Iterable[tuple[str, str, str]]) -> list[str]:
    return [signature for version, _, signature in tokens if version == wanted]


@lru_cache(PARSED_KEYS)
def _key_bytes(secret: str) -> bytes:
    """Return the bytes of a prefixed base64 secret; its padding is optional."""
    text = secret.removeprefix("whsec_").removeprefix(_PUBLIC)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        key = b""
    # A secret that is not base64, or holds nothing, was pasted wrongly; anybody could sign with an empty key.
    return key or token_bytes(32)
