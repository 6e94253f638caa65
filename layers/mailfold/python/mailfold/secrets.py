"""The secrets of all sources, kept for a while and read again when a signature does not match.

A secret that does not have the form of its provider is not used: each reader of a page could sign with what it prints.
Where a source has no other, its requests are put off and not refused, so that the provider sends them again.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mailfold.errors import MalformedPayload, SecretUnavailable
from mailfold.jsontext import loads
from mailfold.secret_forms import Form, fault_of

MAX_AGE_S = 300
#: A forger must not be able to turn each request into a call to Secrets Manager.
REREAD_AFTER_S = 30


_NOT_JUDGED: tuple[Sequence[str], str] = ((), "")


class SecretsClient(Protocol):
    """The one call to Secrets Manager, as boto3 would take it."""

    def get_secret_value(self, *, SecretId: str) -> Mapping[str, Any]:  # noqa: N803
        """Read one secret."""


class Secrets:
    """One Secrets Manager secret: a JSON object from source to secrets, newest first."""

    def __init__(
        self,
        client: SecretsClient,
        secret_id: str,
        *,
        forms: Mapping[str, Form],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._secret_id = secret_id
        #: source -> what its secrets must look like; one that does not is not used.
        self._forms = forms
        self._clock = clock
        self._secrets: Mapping[str, Any] = {}
        #: Of each source that was asked for since the last read: the usable secrets, and where there are none, why.
        self._judged: dict[str, tuple[Sequence[str], str]] = {}
        self._read_at = float("-inf")
        self._tried_at = float("-inf")

    def of(self, source: str) -> Sequence[str]:
        """Return the usable secrets of a source; an old copy is better than none, a missing one is looked for again."""
        usable, _ = self._judged.get(source, _NOT_JUDGED)
        if usable and self._clock() - self._read_at <= MAX_AGE_S:
            return usable
        if self._due(source):
            try:
                self._read()
            except SecretUnavailable:
                if source not in self._secrets:
                    raise
        return self._usable(source)

    def reread(self, source: str) -> Sequence[str] | None:
        """Return the secrets of a source if they have changed since, None if not or if they were read just now."""
        if self._clock() - self._tried_at < REREAD_AFTER_S:
            return None
        before = self._usable(source)
        try:
            self._read()
        except SecretUnavailable:
            return None
        after = self._usable(source)
        return after if after != before else None

    def _due(self, source: str) -> bool:
        now = self._clock()
        if not self._judge(source)[0]:
            return now - self._read_at > REREAD_AFTER_S
        # While Secrets Manager is down the old copy serves, and not every request waits for the same failure.
        return now - self._read_at > MAX_AGE_S and now - self._tried_at > REREAD_AFTER_S

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
        self._judged = {}

    def _usable(self, source: str) -> Sequence[str]:
        usable, why_none = self._judge(source)
        if not usable:
            raise SecretUnavailable(why_none)
        return usable

    def _judge(self, source: str) -> tuple[Sequence[str], str]:
        """Look at the secrets of a source once for each read: a public key is parsed for it."""
        if source not in self._judged:
            self._judged[source] = _judge(source, self._secrets.get(source), self._forms[source])
        return self._judged[source]


def _judge(source: str, listed: Any, form: Form) -> tuple[Sequence[str], str]:
    """Return the secrets that have the form, and where there are none, why."""
    if not isinstance(listed, list) or not listed or not all(isinstance(item, str) and item for item in listed):
        return (), f"the secret holds no list of secrets for {source}"
    faults = [fault_of(secret, form) for secret in listed]
    usable = [secret for secret, fault in zip(listed, faults, strict=True) if fault is None]
    said = ", ".join(sorted({fault for fault in faults if fault}))
    return usable, f"no secret of {source} can be used: it {said}; run bin/mailfold secrets set {source}"
