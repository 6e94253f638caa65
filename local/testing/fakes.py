"""Stand-ins for what receive reaches over the network: small, in memory, and able to fail on demand."""

import json
from collections.abc import Mapping
from typing import Any

from mailfold.errors import FetchFailed


class FakeSecretsManager:
    """Holds one secret; an exception in its place is raised."""

    def __init__(self, secret: Any) -> None:
        self.secret = secret
        self.reads = 0

    def get_secret_value(self, *, SecretId: str) -> Mapping[str, Any]:  # noqa: N803
        """Return the secret as boto3 does."""
        self.reads += 1
        if isinstance(self.secret, Exception):
            raise self.secret
        return {"SecretString": self.secret if isinstance(self.secret, str) else json.dumps(self.secret)}


class FakeFetcher:
    """Serves one certificate, remembers what was asked for, and can be cut off."""

    def __init__(self, certificate: str = "") -> None:
        self._certificate = certificate
        self.certificates: list[str] = []
        self.confirmed: list[str] = []
        self.cut_off = False

    def certificate(self, url: str) -> str:
        """Return the certificate."""
        self.certificates.append(url)
        return self._answer(self._certificate)

    def get(self, url: str) -> str:
        """Confirm a subscription."""
        self.confirmed.append(url)
        return self._answer("")

    def _answer(self, text: str) -> str:
        if self.cut_off:
            raise FetchFailed("the provider's host did not answer")
        return text


class FreshKeyed:
    """Lets every key through, as a table does that has seen none of them."""

    def once(self, key: str, request_hash: str, enqueue: Any) -> tuple[int, Mapping[str, int]]:
        """Enqueue and accept."""
        return 200, {"events": enqueue()}
