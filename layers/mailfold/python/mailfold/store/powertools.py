"""Powertools idempotency without its DynamoDB layer, which loads boto3 and has no part in what Postgres decides.

The package imports that layer whichever part of it is asked for. While it is loaded here for the first time, an empty
module stands in the layer's place; afterwards whoever asks for the layer gets the real one, loaded at that moment.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = [
    "BasePersistenceLayer",
    "DataRecord",
    "IdempotencyConfig",
    "IdempotencyItemAlreadyExistsError",
    "IdempotencyItemNotFoundError",
    "IdempotencyValidationError",
    "idempotent_function",
]

_PACKAGE = "aws_lambda_powertools.utilities.idempotency"
_LAYER = f"{_PACKAGE}.persistence.dynamodb"
_NAME = "DynamoDBPersistenceLayer"


@contextmanager
def _layer_on_demand() -> Iterator[None]:
    if _PACKAGE in sys.modules:
        yield
        return
    stand_in = ModuleType(_LAYER)
    setattr(stand_in, _NAME, None)
    sys.modules[_LAYER] = stand_in
    try:
        yield
    finally:
        del sys.modules[_LAYER]
    package = sys.modules[_PACKAGE]
    delattr(package, _NAME)
    # https://peps.python.org/pep-0562/
    package.__getattr__ = _real_layer  # type: ignore[method-assign]


def _real_layer(name: str) -> Any:
    if name != _NAME:
        raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")
    return getattr(import_module(_LAYER), _NAME)


with _layer_on_demand():
    from aws_lambda_powertools.utilities.idempotency import (
        BasePersistenceLayer,
        IdempotencyConfig,
        idempotent_function,
    )
    from aws_lambda_powertools.utilities.idempotency.exceptions import (
        IdempotencyItemAlreadyExistsError,
        IdempotencyItemNotFoundError,
        IdempotencyValidationError,
    )
    from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord
