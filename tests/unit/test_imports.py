"""What loading a part of the package really loads; the import contracts see names, this sees the interpreter."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "layers" / "mailfold" / "python"
FUNCTIONS = ROOT / "functions"
NETWORK = {"socket", "ssl", "http.client", "urllib.request", "asyncio", "subprocess", "boto3", "botocore", "pg8000"}
#: What makes a client of boto3 slow to load: itself, and the session that finds its way to a service.
CLIENT = {"boto3", "botocore.session", "botocore.client"}
DATABASE = {"pg8000", "mailfold.store", "mailfold.store.connection"}
#: What only a developer's machine has.
TOOLS = {"aws_cdk", "bench", "constructs", "infra", "local", "playwright", "pytest", "tests"}


def loaded_by(*modules: str) -> set[str]:
    places = [str(PACKAGE), str(ROOT)]
    program = f"import sys; sys.path[:0] = {places}; import {', '.join(modules)}; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


def test_adapters_and_rules_load_nothing_that_could_reach_a_network() -> None:
    loaded = loaded_by("mailfold.providers", "mailfold.fold", "mailfold.envelope")

    assert loaded & NETWORK == set()
    assert "cryptography" not in loaded


def test_receive_loads_no_database() -> None:
    assert loaded_by("mailfold.settings", "mailfold.steps.receive", "mailfold.queue") & DATABASE == set()


@pytest.mark.parametrize("step", ["process", "prune", "sweep", "query", "migrate"])
def test_the_steps_on_the_database_load_no_aws_client(step: str) -> None:
    loaded = loaded_by("mailfold.settings", f"mailfold.steps.{step}", "mailfold.store.connection")

    assert loaded & CLIENT == set()


def test_receive_signs_its_calls_without_an_aws_client() -> None:
    loaded = loaded_by("mailfold.settings", "mailfold.steps.receive", "mailfold.aws")

    assert loaded & CLIENT == set()
    # Only a request with such a signature needs it.
    assert "cryptography" not in loaded


def test_the_command_line_loads_no_tools_and_no_database_driver() -> None:
    loaded = loaded_by("cli.__main__", "cli.checks.probe", "samples.sendgrid")

    assert loaded & (TOOLS | DATABASE) == set()


@pytest.mark.parametrize("step", ["receive", "process", "prune", "sweep", "query", "migrate"])
def test_a_handler_imports_nothing_beyond_its_step(step: str) -> None:
    """The two tests above stand for the handlers only as long as these import the same modules."""
    tree = ast.parse((FUNCTIONS / step / "handler.py").read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    others = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}

    assert {name for name in imported if name and name.split(".")[0] not in ("mailfold", "typing", "datetime")} == set()
    assert others <= {"json"}
