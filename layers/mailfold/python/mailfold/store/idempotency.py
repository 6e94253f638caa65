"""Powertools idempotency on claims that the open transaction already holds.

Powertools decides per record: new, done before, or the same key with another payload. All claims of a batch were taken
in one statement before it is asked, so its four storage hooks only look into that answer and cost no round trip; the
transaction commits claims and events together, so an unfinished claim is never visible to anybody.
"""

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from aws_lambda_powertools.utilities.typing import LambdaContext

from mailfold.store.batch import Holder
from mailfold.store.powertools import (
    BasePersistenceLayer,
    DataRecord,
    IdempotencyConfig,
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
)


class Asked(NamedTuple):
    """What Powertools is asked to decide about."""

    claim_key: str
    request_hash: str

    def __deepcopy__(self, memo: dict[int, Any]) -> "Asked":
        # Powertools copies its argument deeply for every record, which takes longer than its decision.
        return self


class JoinedPersistence(BasePersistenceLayer):
    """The claims of one batch, as Powertools wants to see them; made again for every transaction."""

    def __init__(self, claims: Mapping[str, Holder | None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Powertools leaves this one untyped
        self._records = {key: _record_of(key, holder) for key, holder in claims.items() if holder}

    # Powertools hashes the payload to make these two; the envelope brings both, computed where it was sealed.
    def _get_hashed_idempotency_key(self, data: Any) -> str:
        return str(data.claim_key)

    def _get_hashed_payload(self, data: Any) -> str:
        return str(data.request_hash)

    def _get_record(self, idempotency_key: str) -> DataRecord:
        try:
            return self._records[idempotency_key]
        except KeyError:
            raise IdempotencyItemNotFoundError from None

    def _put_record(self, data_record: DataRecord) -> None:
        known = self._records.get(data_record.idempotency_key)
        if known is not None:
            # Powertools leaves this check to the layer when it is handed the old record.
            self._validate_payload(data_record, known)
            raise IdempotencyItemAlreadyExistsError(old_data_record=known)
        self._records[data_record.idempotency_key] = data_record

    def _update_record(self, data_record: DataRecord) -> None:
        self._records[data_record.idempotency_key] = data_record

    def _delete_record(self, data_record: DataRecord) -> None:
        self._records.pop(data_record.idempotency_key, None)


def joined_config(remaining_ms: Callable[[], int]) -> IdempotencyConfig:
    """Return the configuration for one invocation.

    The local cache stays off: it would answer for a batch that was rolled back, and its events would be lost.
    """
    config = IdempotencyConfig(payload_validation_jmespath="request_hash", use_local_cache=False)
    # Of the whole Lambda context Powertools asks only this.
    config.register_lambda_context(cast(LambdaContext, SimpleNamespace(get_remaining_time_in_millis=remaining_ms)))
    return config


def _record_of(key: str, holder: Holder) -> DataRecord:
    return DataRecord(
        idempotency_key=key,
        status="COMPLETED",
        response_data=json.dumps(holder.result),
        payload_hash=holder.request_hash,
    )
