"""Counts what a verification costs: how often something is hashed or verified, and how many bytes that takes."""

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import pytest

from mailfold import signatures

#: Each takes the key, what is hashed, and the signature.
PUBLIC_KEY_CHECKS = ("_ecdsa_matches", "_ed25519_matches", "_rsa_matches")


class Meter:
    """The hashes and public key checks that were made since it was last read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._calls = self._bytes = 0
        monkeypatch.setattr(hmac, "digest", self._counted(hmac.digest, place=1))
        monkeypatch.setattr(hashlib, "new", self._counted(hashlib.new, place=1))
        for name in PUBLIC_KEY_CHECKS:
            monkeypatch.setattr(signatures, name, self._counted(getattr(signatures, name), place=1))

    def read(self) -> tuple[int, int]:
        """Return calls and bytes, and begin again."""
        cost, self._calls, self._bytes = (self._calls, self._bytes), 0, 0
        return cost

    def _counted(self, real: Callable[..., Any], *, place: int) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            self._calls += 1
            self._bytes += len(arguments[place]) if len(arguments) > place else 0
            return real(*arguments, **named)

        return counted
