"""The tokens of the query API: random, and known again by their digest."""

import re
import secrets
from collections.abc import Iterable
from hashlib import sha256

#: What each scope allows besides itself: check asks whether addresses are stopped, read looks at everything but raw
#: payloads, raw at those too, and operate changes things. Who may change something need not see raw payloads.
INCLUDES: dict[str, frozenset[str]] = {
    "check": frozenset(),
    "read": frozenset({"check"}),
    "raw": frozenset({"check", "read"}),
    "operate": frozenset({"check", "read"}),
}
SCOPES = tuple(INCLUDES)

_SHAPE = re.compile(r"mf_[A-Za-z0-9_-]{43}")


def new_token() -> str:
    """Return 256 random bits behind a mark by which a scanner of secrets can know them."""
    return f"mf_{secrets.token_urlsafe(32)}"


def allowed(scopes: Iterable[str]) -> frozenset[str]:
    """Return everything that these scopes allow; a scope that is not known allows nothing but its own name."""
    given = frozenset(scopes)
    return given.union(*(INCLUDES.get(scope, frozenset()) for scope in given))


def is_token(text: str) -> bool:
    """Tell whether a text could be a token at all."""
    return _SHAPE.fullmatch(text) is not None


def token_hash(token: str) -> str:
    """Return what is stored; a slow hash would only help where a token could be guessed."""
    return sha256(token.encode("ascii")).hexdigest()
