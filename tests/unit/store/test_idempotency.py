"""Powertools on claims that were fetched before: what it decides, and what we rely on inside it."""

import inspect
from collections.abc import Mapping
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency import BasePersistenceLayer, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyValidationError

from mailfold.store.batch import Holder
from mailfold.store.idempotency import Asked, JoinedPersistence, joined_config

RESULT = {"new": 2, "duplicate": 0, "conflict": 0, "dead": 0}


class Worker:
    """Counts how often it really runs."""

    def __init__(self, claims: Mapping[str, Holder | None]) -> None:
        self.runs: list[str] = []
        self._guarded = idempotent_function(
            self._run,
            data_keyword_argument="claim",
            persistence_store=JoinedPersistence(claims),
            config=joined_config(lambda: 60_000),
        )

    def _run(self, *, claim: Asked) -> dict[str, int]:
        self.runs.append(claim.claim_key)
        return RESULT

    def __call__(self, key: str, request_hash: str = "h1") -> Any:
        return self._guarded(claim=Asked(key, request_hash))


def test_a_free_claim_runs() -> None:
    worker = Worker({"main:1": None})

    assert worker("main:1") == RESULT
    assert worker.runs == ["main:1"]


def test_a_claim_that_was_completed_returns_its_result_and_runs_nothing() -> None:
    worker = Worker({"main:1": Holder(request_hash="h1", result=RESULT)})

    assert worker("main:1") == RESULT
    assert worker.runs == []


def test_the_same_claim_for_another_payload_is_refused() -> None:
    worker = Worker({"main:1": Holder(request_hash="h1", result=RESULT)})

    with pytest.raises(IdempotencyValidationError):
        worker("main:1", "h2")

    assert worker.runs == []


def test_the_second_copy_in_one_batch_is_answered_by_the_first() -> None:
    worker = Worker({"main:1": None})

    assert [worker("main:1"), worker("main:1")] == [RESULT, RESULT]
    assert worker.runs == ["main:1"]


def test_the_second_copy_in_one_batch_with_another_payload_is_refused() -> None:
    worker = Worker({"main:1": None})
    worker("main:1")

    with pytest.raises(IdempotencyValidationError):
        worker("main:1", "h2")


def test_a_claim_that_failed_may_run_again_in_the_same_batch() -> None:
    worker = Worker({"main:1": None})

    def fail(*, claim: Asked) -> None:
        raise ZeroDivisionError

    layer = JoinedPersistence({"main:1": None})
    failing = idempotent_function(
        fail, data_keyword_argument="claim", persistence_store=layer, config=joined_config(lambda: 60_000)
    )
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            failing(claim=Asked("main:1", "h1"))

    assert worker("main:1") == RESULT


def test_nothing_survives_into_the_next_batch() -> None:
    Worker({"main:1": None})("main:1")

    next_batch = Worker({"main:1": None})
    next_batch("main:1")

    assert next_batch.runs == ["main:1"]


def test_the_local_cache_is_off_and_the_payload_is_checked() -> None:
    config = joined_config(lambda: 60_000)
    layer = JoinedPersistence({})
    layer.configure(config)

    assert config.use_local_cache is False
    assert config.payload_validation_jmespath == "request_hash"
    assert not hasattr(layer, "_cache") or not layer._cache
    assert layer.payload_validation_enabled


@pytest.mark.parametrize("name", ["_get_hashed_idempotency_key", "_get_hashed_payload"])
def test_powertools_still_has_the_private_names_that_are_overridden(name: str) -> None:
    theirs = inspect.signature(getattr(BasePersistenceLayer, name))
    ours = inspect.signature(getattr(JoinedPersistence, name))

    assert list(theirs.parameters) == list(ours.parameters) == ["self", "data"]


def test_powertools_still_calls_what_is_overridden_and_relied_on() -> None:
    source = inspect.getsource(BasePersistenceLayer)

    assert "self._get_hashed_idempotency_key(" in source
    assert "self._get_hashed_payload(" in source
    assert "self._validate_payload(" in source


@pytest.mark.parametrize("name", ["_get_record", "_put_record", "_update_record", "_delete_record"])
def test_the_four_hooks_take_the_names_that_powertools_passes(name: str) -> None:
    theirs = inspect.signature(getattr(BasePersistenceLayer, name))
    ours = inspect.signature(getattr(JoinedPersistence, name))

    assert list(ours.parameters) == list(theirs.parameters)
