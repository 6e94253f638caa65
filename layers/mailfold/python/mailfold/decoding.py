"""What an unproven sender wrote, made bytes: counted and measured before it is read."""

import base64
from collections.abc import Sequence

from mailfold.errors import VerificationError

#: A sender signs once for each of its secrets in use: one, or two while it rotates. More cost time and prove nothing.
MOST_SIGNATURES = 10
#: Of one header that proves a sender. A signature of RSA-4096 has 684 characters, ten of Standard Webhooks have some
#: 900, a bearer token may have a few thousand.
LONGEST_HEADER = 4_096
#: Base64 of the longest signature that is made: RSA with 8192 bits has 1,368 characters.
LONGEST_SIGNATURE = 2_048


def well_formed(signatures: Sequence[str], encoding: str, size: int, *, most: int = MOST_SIGNATURES) -> list[bytes]:
    """Return those of a few signatures that decode to this size; without any there is nothing to hash for."""
    length = 2 * size if encoding == "hex" else 4 * -(-size // 3)
    if len(signatures) > MOST_SIGNATURES:
        raise VerificationError
    fitting = []
    for text in signatures:
        if len(text) != length:
            continue
        try:
            one = decoded(text, encoding)
        except VerificationError:
            continue
        if len(one) == size:
            fitting.append(one)
    if not fitting or len(fitting) > most:
        raise VerificationError
    return fitting


def decoded(text: str, encoding: str) -> bytes:
    """Return the bytes of one signature in hex or base64."""
    if len(text) > LONGEST_SIGNATURE:
        raise VerificationError
    try:
        return bytes.fromhex(text) if encoding == "hex" else base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, ValueError):
        raise VerificationError from None


def as_bytes(text: str | bytes) -> bytes:
    """Return text in UTF-8, lone surrogates included, and bytes as they are."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
