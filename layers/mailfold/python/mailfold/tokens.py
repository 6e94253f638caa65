"""The tokens of the query API: random, and known again by their digest."""

import re
import secrets
from hashlib import sha256

#: What may be asked, and what may be changed besides.
SCOPES = ("read", "operate")

_SHAPE = re.compile(r"mf_[A-Za-z0-9_-]{43}")


def new_token() -> str:
    """Return 256 random bits behind a mark by which a scanner of secrets can know them."""
    return f"mf_{secrets.token_urlsafe(32)}"


def is_token(text: str) -> bool:
    """Tell whether a text could be a token at all."""
    return _SHAPE.fullmatch(text) is not None


def token_hash(token: str) -> str:
    """Return what is stored; a slow hash would only help where a token could be guessed."""
    return sha256(token.encode("ascii")).hexdigest()
