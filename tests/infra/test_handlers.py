"""Each handler starts with nothing but its own asset, the layers and what Lambda's runtime brings."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from infra.dependencies import build_dependencies
from tests.infra.template import STEPS, Synthesised, rendered
from tests.infra.test_layers import layer

#: What the Python runtime of Lambda has on board: https://docs.aws.amazon.com/lambda/latest/dg/lambda-python.html
RUNTIME = ("boto3", "botocore", "s3transfer", "urllib3")

START = """
import json, os, sys
given = json.load(sys.stdin)
sys.path[:0] = given["path"]
os.environ.clear()
os.environ.update(given["environment"])
import handler
assert callable(handler.handler)
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that stands for the runtime's own packages."""
    folder = tmp_path_factory.mktemp("runtime")
    for name in RUNTIME:
        spec = importlib.util.find_spec(name)
        assert spec
        assert spec.origin
        (folder / name).symlink_to(Path(spec.origin).parent)
    return folder


def start(step: str, stack: Synthesised, path: list[Path]) -> subprocess.CompletedProcess[str]:
    environment = {name: rendered(value) for name, value in stack.environment(step).items()}
    given = {
        "path": [str(it) for it in path],
        "environment": environment | {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1"},
    }
    return subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", START], input=json.dumps(given), capture_output=True, text=True
    )


@pytest.mark.parametrize("step", STEPS)
def test_the_handler_starts_from_its_assets_alone(step: str, stack: Synthesised, runtime: Path) -> None:
    _, function = stack.function(step)
    mailfold = layer(stack, "mailfold package") / "python"
    third_party = build_dependencies(platform=None, python_version=None) / "python"

    done = start(step, stack, [stack.asset(function["Code"]), mailfold, third_party, runtime])

    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout))
    assert "mailfold" in loaded
    assert ("pg8000" in loaded) == (step != "receive")


@pytest.mark.parametrize("step", STEPS)
def test_without_a_layer_it_does_not_start(step: str, stack: Synthesised, runtime: Path) -> None:
    """Show that the test above sees only what it is given."""
    _, function = stack.function(step)

    done = start(step, stack, [stack.asset(function["Code"]), layer(stack, "mailfold package") / "python", runtime])

    assert done.returncode != 0
    assert "ModuleNotFoundError" in done.stderr
