"""The secrets of all sources, kept for a while and read again when a signature does not match."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mailfold.errors import MalformedPayload, SecretUnavailable
from mailfold.jsontext import loads

MAX_AGE_S = 300
#: A forger must not be able to turn each request into a call to Secrets Manager.
REREAD_AFTER_S = 30


class SecretsClient(Protocol):
    """The one call to Secrets Manager, as boto3 would take it."""

    def get_secret_value(self, *, SecretId: str) -> Mapping[str, Any]:  # noqa: N803
        """Read one secret."""


class Secrets:
    """One Secrets Manager secret: a JSON object from source to secrets, newest first."""

    def __init__(self, client: SecretsClient, secret_id: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._secret_id = secret_id
        self._clock = clock
        self._secrets: Mapping[str, Any] = {}
        self._read_at = float("-inf")
        self._tried_at = float("-inf")

    def of(self, source: str) -> Sequence[str]:
        """Return the secrets of a source; an old copy is better than none, and a missing one is looked for again."""
        if self._due(source):
            try:
                self._read()
            except SecretUnavailable:
                if source not in self._secrets:
                    raise
        return self._listed(source)

    def reread(self, source: str) -> Sequence[str] | None:
        """Return the secrets of a source if they have changed since, None if not or if they were read just now."""
        if self._clock() - self._tried_at < REREAD_AFTER_S:
            return None
        before = self._listed(source)
        try:
            self._read()
        except SecretUnavailable:
            return None
        after = self._listed(source)
        return after if after != before else None

    def _due(self, source: str) -> bool:
        age = self._clock() - self._read_at
        if source not in self._secrets:
            return age > REREAD_AFTER_S
        # While Secrets Manager is down the old copy serves, and not every request waits for the same failure.
        return age > MAX_AGE_S and self._clock() - self._tried_at > REREAD_AFTER_S

    def _read(self) -> None:
        self._tried_at = self._clock()
        try:
            secrets = loads(self._client.get_secret_value(SecretId=self._secret_id)["SecretString"])
        except MalformedPayload:
            raise SecretUnavailable("the secret is not JSON") from None
        except Exception as exc:
            # Whatever goes wrong on the way to Secrets Manager means that nobody can be verified now.
            raise SecretUnavailable(f"the secret could not be read: {type(exc).__name__}") from exc
        if not isinstance(secrets, dict):
            raise SecretUnavailable("the secret is not a JSON object")
        self._secrets, self._read_at = secrets, self._clock()

    def _listed(self, source: str) -> Sequence[str]:
        listed = self._secrets.get(source)
        if not isinstance(listed, list) or not listed or not all(isinstance(item, str) and item for item in listed):
            raise SecretUnavailable(f"the secret holds no list of secrets for {source}")
        return listed
