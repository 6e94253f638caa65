"""What loading a part of the package really loads; the import contracts see names, this sees the interpreter."""

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "layers" / "mailfold" / "python"
NETWORK = {"socket", "ssl", "http.client", "urllib.request", "asyncio", "subprocess", "boto3", "botocore", "pg8000"}
DATABASE = {"pg8000", "mailfold.store", "mailfold.store.connection"}


def loaded_by(*modules: str) -> set[str]:
    program = f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); import {', '.join(modules)}; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


def test_adapters_and_rules_load_nothing_that_could_reach_a_network() -> None:
    loaded = loaded_by("mailfold.providers", "mailfold.fold", "mailfold.envelope")

    assert loaded & NETWORK == set()
    assert "cryptography" not in loaded


def test_receive_loads_no_database() -> None:
    assert loaded_by("mailfold.settings", "mailfold.steps.receive", "mailfold.queue") & DATABASE == set()


@pytest.mark.parametrize("step", ["prune", "migrate"])
def test_the_steps_on_the_database_load_no_aws_client(step: str) -> None:
    assert loaded_by("mailfold.settings", f"mailfold.steps.{step}") & {"boto3"} == set()
