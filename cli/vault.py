"""The secret of all sources, read and changed without losing what somebody else writes meanwhile."""

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


class Vault:
    """One Secrets Manager secret."""

    def __init__(self, client: Any, secret_id: str) -> None:
        self._client = client
        self._secret_id = secret_id

    def read(self) -> Version:
        """Return the current version."""
        found = self._client.get_secret_value(SecretId=self._secret_id, VersionStage=CURRENT)
        try:
            entries = json.loads(found["SecretString"])
        except (KeyError, ValueError):
            entries = None
        if not isinstance(entries, dict):
            raise CommandError(NOT_AN_OBJECT, DECLINED)
        return Version(entries=entries, version_id=found["VersionId"], created_at=found["CreatedDate"])

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
            raise CommandError("somebody else has just changed the secret: nothing was changed, try again") from exc
        finally:
            # Without a label of its own, the version is current or on its way out.
            with contextlib.suppress(ClientError):
                self._move(label, away_from=made)

    def _move(self, label: str, *, away_from: str, to: str | None = None) -> None:
        target = {"MoveToVersionId": to} if to else {}
        self._client.update_secret_version_stage(
            SecretId=self._secret_id, VersionStage=label, RemoveFromVersionId=away_from, **target
        )


NOT_AN_OBJECT = (
    'the secret is not a JSON object: mend it by hand in Secrets Manager, such as {"sendgrid": ["newest", "older"]}'
)
