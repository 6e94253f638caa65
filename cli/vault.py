"""The secret of all sources, read and changed without losing what another writes meanwhile."""

import contextlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from cli.errors import DECLINED, CommandError

CURRENT = "AWSCURRENT"
PREVIOUS = "AWSPREVIOUS"


@dataclass(frozen=True, kw_only=True)
class Version:
    """The secret as it was at one moment."""

    #: source -> its secrets, newest first; whatever an operator has written, so it may be of any shape.
    entries: Mapping[str, Any]
    version_id: str
    created_at: datetime

    def of(self, source: str) -> list[str]:
        """Return the secrets of a source as receive would use them; none where the entry is of another shape."""
        listed = self.entries.get(source)
        usable = isinstance(listed, list) and all(isinstance(item, str) and item for item in listed)
        return list(listed) if usable and listed else []


def _version(found: Mapping[str, Any]) -> Version | None:
    try:
        entries = json.loads(found["SecretString"])
    except (KeyError, ValueError):
        entries = None
    if not isinstance(entries, dict):
        return None
    return Version(entries=entries, version_id=found["VersionId"], created_at=found["CreatedDate"])


class Vault:
    """One Secrets Manager secret."""

    def __init__(self, client: Any, secret_id: str) -> None:
        self._client = client
        self._secret_id = secret_id

    def read(self) -> Version:
        """Return the current version."""
        found = self._client.get_secret_value(SecretId=self._secret_id, VersionStage=CURRENT)
        version = _version(found)
        if version is None:
            raise CommandError(f"{NOT_AN_OBJECT}: {self._way_back(found['VersionId'])}", DECLINED)
        return version

    def read_previous(self) -> Version | None:
        """Return the version before this one, or None where there is none that can be read."""
        try:
            return _version(self._client.get_secret_value(SecretId=self._secret_id, VersionStage=PREVIOUS))
        except ClientError as exc:
            if exc.response["Error"]["Code"] not in NO_SUCH_VERSION:
                raise
            return None

    def _way_back(self, version_id: str) -> str:
        """Return the command that makes a broken secret an object again; it holds no value."""
        before = self.read_previous()
        if before is None:
            return f"aws secretsmanager put-secret-value --secret-id {self._secret_id} --secret-string '{{}}'"
        return (
            f"aws secretsmanager update-secret-version-stage --secret-id {self._secret_id} --version-stage {CURRENT} "
            f"--move-to-version-id {before.version_id} --remove-from-version-id {version_id}"
        )

    def replace(self, version: Version, entries: Mapping[str, Any]) -> None:
        """Make these the entries, if the secret is still at this version; otherwise nothing is changed."""
        # A version of its own first, and then the one step that AWS makes only if the label is still where it was.
        label = f"mailfold-{uuid.uuid4().hex[:12]}"
        made = self._client.put_secret_value(
            SecretId=self._secret_id,
            SecretString=json.dumps(entries),
            ClientRequestToken=str(uuid.uuid4()),
            VersionStages=[label],
        )["VersionId"]
        try:
            self._move(CURRENT, to=made, away_from=version.version_id)
        except ClientError as exc:
            if exc.response["Error"]["Code"] != "InvalidParameterException":
                raise
            raise CommandError(
                "the secret was changed at the same moment: nothing was changed here, try again"
            ) from exc
        finally:
            # Without a label of its own, the version is current or on its way out.
            with contextlib.suppress(ClientError):
                self._move(label, away_from=made)

    def _move(self, label: str, *, away_from: str, to: str | None = None) -> None:
        target = {"MoveToVersionId": to} if to else {}
        self._client.update_secret_version_stage(
            SecretId=self._secret_id, VersionStage=label, RemoveFromVersionId=away_from, **target
        )


NOT_AN_OBJECT = "the secret is not a JSON object"
#: What AWS answers where a secret has only one version.
NO_SUCH_VERSION = {"ResourceNotFoundException", "InvalidRequestException"}
