"""Synthesising needs no account, no node, no Docker and no home, and says the same thing every time."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.node import node_path, npm_path
from tests.infra.template import ROOT, Synthesised, synthesise

PARTS = ("app.py", "cdk.json", "infra", "functions", "layers")


def assets(folder: Path) -> set[str]:
    return set(json.loads((folder / "Mailfold.assets.json").read_text())["files"])


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The assembly of another clone, made by the command itself with an empty environment."""
    clone = tmp_path_factory.mktemp("clone")
    for name in PARTS:
        if (ROOT / name).is_dir():
            # A clone has no byte code, and what others compile meanwhile comes and goes.
            shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, clone / name)
    # The layer's build and the unpacked CDK are caches; sharing them keeps this test off the network.
    (clone / ".build").symlink_to(ROOT / ".build")
    environment = {"PATH": "", "HOME": str(clone / "nowhere")}
    done = subprocess.run([sys.executable, "app.py"], cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return clone / "cdk.out"


def test_another_clone_says_the_same(stack: Synthesised, elsewhere: Path) -> None:
    assert json.loads((elsewhere / "Mailfold.template.json").read_text()) == stack.template
    assert assets(elsewhere) == assets(stack.folder)


def test_a_second_synth_says_the_same(stack: Synthesised, tmp_path: Path) -> None:
    again = synthesise(tmp_path)

    assert (again.folder / "Mailfold.template.json").read_bytes() == (
        stack.folder / "Mailfold.template.json"
    ).read_bytes()
    assert assets(again.folder) == assets(stack.folder)


def test_the_assembly_names_no_account(stack: Synthesised) -> None:
    manifest = json.loads((stack.folder / "manifest.json").read_text())

    assert manifest["artifacts"]["Mailfold"]["environment"] == "aws://unknown-account/unknown-region"


def test_no_asset_is_built_by_docker(stack: Synthesised) -> None:
    manifest = json.loads((stack.folder / "Mailfold.assets.json").read_text())

    assert manifest["dockerImages"] == {}


def test_node_and_npm_come_from_the_wheel() -> None:
    done = subprocess.run([node_path(), npm_path(), "--version"], capture_output=True, text=True, env={"PATH": ""})

    assert done.returncode == 0, done.stderr
    assert Path(node_path()).is_relative_to(sys.prefix)
