"""The synchronous contract of providers that send an idempotency key: Powertools idempotency on DynamoDB, at the door.

The table only decides what the provider is told. Whether an event is folded is decided in Postgres, so every doubt here
ends with the envelopes on the queue: they carry the same key, and the fold takes them once.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Any, cast

from mailfold.errors import KeyConflict, KeyMissing

LONGEST_KEY = 255
#: Providers retry for three days at most; afterwards Postgres alone remembers.
EXPIRES_AFTER_S = 4 * 24 * 3600
#: What is left of receive's 10 s when it starts; an attempt that died is taken over after this long.
ATTEMPT_MS = 10_000
#: For each wait on the table: one that does not answer must not cost the provider its own time-out.
TIMEOUT_S = 1.0
#: How often a call to the table is made at most.
TRIES = 2

Told = tuple[int, Mapping[str, str | int]]


def check_key(key: str | None) -> str:
    """Return a usable key."""
    if not key or len(key) > LONGEST_KEY:
        raise KeyMissing("the idempotency key is missing or too long")
    return key


class Keyed:
    """One DynamoDB table of keys that were seen at the door."""

    def __init__(self, table_name: str) -> None:
        self._table_name = table_name

    def once(self, key: str, request_hash: str, enqueue: Callable[[], int]) -> Told:
        """Enqueue and say so; a repeat is told what the first was told, and a collision is a 409."""
        # Loaded on first use: most deployments have no keyed source and should not pay for these imports.
        from aws_lambda_powertools.utilities.idempotency import idempotent_function
        from aws_lambda_powertools.utilities.idempotency.exceptions import (
            BaseError,
            IdempotencyAlreadyInProgressError,
            IdempotencyValidationError,
        )

        def accept(claim: Mapping[str, str]) -> dict[str, int]:
            return {"events": enqueue()}

        guarded = idempotent_function(
            accept,
            data_keyword_argument="claim",
            persistence_store=self._persistence,
            config=self._config,
            key_prefix="receive",
        )
        try:
            return 200, guarded(claim={"key": key, "hash": request_hash})
        except IdempotencyValidationError:
            # Queued under the same key, it is refused there too, and kept in dead letters.
            enqueue()
            raise KeyConflict("the idempotency key was used for another payload") from None
        except IdempotencyAlreadyInProgressError:
            # The first attempt may yet fail, and the provider takes 202 for an answer: only the queue makes it true.
            enqueue()
            return 202, {"status": "processing"}
        except BaseError:
            # The table is away, or contradicts itself in the instant in which a record expires.
            return 200, {"events": enqueue()}

    @cached_property
    def _persistence(self) -> Any:
        import boto3
        from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer
        from botocore.config import Config

        patience = Config(connect_timeout=TIMEOUT_S, read_timeout=TIMEOUT_S, retries={"total_max_attempts": TRIES})
        return DynamoDBPersistenceLayer(
            table_name=self._table_name, boto3_client=boto3.client("dynamodb", config=patience)
        )

    @cached_property
    def _config(self) -> Any:
        from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig
        from aws_lambda_powertools.utilities.typing import LambdaContext

        config = IdempotencyConfig(
            event_key_jmespath="key",
            payload_validation_jmespath="hash",
            expires_after_seconds=EXPIRES_AFTER_S,
            hash_function="sha256",
            raise_on_no_idempotency_key=True,
        )
        clock = SimpleNamespace(get_remaining_time_in_millis=lambda: ATTEMPT_MS)
        config.register_lambda_context(cast(LambdaContext, clock))
        return config
