"""Powertools idempotency without boto3, and with all of it for whoever asks."""

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "layers" / "mailfold" / "python"
IDEMPOTENCY = "aws_lambda_powertools.utilities.idempotency"


def run(program: str) -> str:
    begin = f"import sys; sys.path.insert(0, {str(PACKAGE)!r})\n"
    return subprocess.run(
        [sys.executable, "-I", "-c", begin + program], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_package_comes_without_its_dynamodb_layer() -> None:
    loaded = run("import mailfold.store.powertools; print(*sys.modules)").split()

    assert IDEMPOTENCY in loaded
    assert {"boto3", "botocore.session", f"{IDEMPOTENCY}.persistence.dynamodb"} & set(loaded) == set()


@pytest.mark.parametrize("place", [IDEMPOTENCY, f"{IDEMPOTENCY}.persistence.dynamodb"])
def test_the_real_layer_is_there_for_whoever_asks_afterwards(place: str) -> None:
    asked = f"import mailfold.store.powertools; from {place} import DynamoDBPersistenceLayer as layer"

    assert run(f"{asked}; print(layer.__mro__[1].__name__, layer.__init__.__module__)") == (
        f"BasePersistenceLayer {IDEMPOTENCY}.persistence.dynamodb"
    )


def test_the_package_still_refuses_what_it_does_not_have() -> None:
    asked = f"import mailfold.store.powertools, {IDEMPOTENCY} as package"

    assert run(f"{asked}; print(hasattr(package, 'nothing'))") == "False"


def test_a_package_that_is_loaded_already_is_left_as_it_is() -> None:
    program = f"from {IDEMPOTENCY} import DynamoDBPersistenceLayer as before, idempotent_function as theirs\n"
    program += f"from mailfold.store.powertools import idempotent_function as ours\nimport {IDEMPOTENCY} as package\n"

    assert run(f"{program}print(package.DynamoDBPersistenceLayer is before, ours is theirs)") == "True True"
