"""The CDK's command line is installed once, at its pinned version and digest, and run with the wheel's node."""

import json
import os
import sys
from pathlib import Path

import pytest

from local import cdk

NODE = """#!{python}
import json, os, pathlib, sys
with open({log!r}, "a") as log:
    log.write(json.dumps({{"arguments": sys.argv[1:], "folder": os.getcwd()}}) + "\\n")
if "ci" in sys.argv:
    package = pathlib.Path("node_modules/aws-cdk/package.json")
    package.parent.mkdir(parents=True)
    package.write_text(json.dumps({{"version": {version!r}}}))
    sys.exit({ci})
sys.exit(7)
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a stand-in for node was told, line by line."""
    monkeypatch.setattr(cdk, "FOLDER", tmp_path / "cdk")
    monkeypatch.setattr(cdk, "PROGRAM", tmp_path / "cdk/node_modules/aws-cdk/bin/cdk")
    monkeypatch.setattr(cdk, "node_path", lambda: str(tmp_path / "node"))
    monkeypatch.setattr(cdk, "prepare_cdk", lambda: None)
    monkeypatch.setattr(sys, "argv", ["cdk", "synth", "--quiet"])
    monkeypatch.setenv("CDK_DISABLE_CLI_TELEMETRY", "true")
    monkeypatch.setenv("CDK_HOME", str(tmp_path / "home"))
    return tmp_path / "log"


def stand_in(log: Path, *, version: str = cdk.VERSION, ci: int = 0) -> None:
    node = log.with_name("node")
    node.write_text(NODE.format(python=sys.executable, log=str(log), version=version, ci=ci))
    node.chmod(0o755)


def told(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def run() -> object:
    with pytest.raises(SystemExit) as left:
        cdk.main()
    return left.value.code


def test_it_is_installed_once_and_leaves_with_the_tools_exit_code(log: Path) -> None:
    stand_in(log)

    assert run() == 7
    assert run() == 7

    install, *runs = told(log)
    assert "ci" in install["arguments"]
    assert [it["arguments"] for it in runs] == [[str(cdk.PROGRAM), "synth", "--quiet"]] * 2
    assert {it["folder"] for it in runs} == {str(cdk.ROOT)}


def test_npm_is_held_to_the_version_and_the_digest(log: Path) -> None:
    stand_in(log)
    run()

    lock = json.loads((log.parent / "cdk/package-lock.json").read_text())["packages"]

    assert lock[""]["dependencies"] == {"aws-cdk": cdk.VERSION}
    assert lock["node_modules/aws-cdk"] == {"version": cdk.VERSION, "integrity": cdk.INTEGRITY}
    assert cdk.VERSION.startswith("2.11")


def test_another_version_is_replaced(log: Path) -> None:
    stand_in(log, version="2.0.0")
    run()
    run()

    assert ["ci" in it["arguments"] for it in told(log)] == [True, False, True, False]


def test_a_failed_install_says_so_and_leaves_nothing(log: Path) -> None:
    stand_in(log, ci=3)

    assert run() == f"npm could not install aws-cdk {cdk.VERSION} (exit 3)."
    assert not os.path.exists(log.parent / "cdk")
