"""The layers: the same bytes on every machine, made for Lambda's processor, without a developer's leavings."""

import ast
import shutil
from pathlib import Path

import pytest
from aws_cdk import FileSystem

from infra import dependencies
from infra.dependencies import build_dependencies
from infra.layers import JUNK, PLATFORM, PYTHON_VERSION
from tests.infra.template import ROOT, Synthesised

#: Where an ELF file names its processor, and how it writes 64-bit Arm: https://refspecs.linuxfoundation.org/elf/gabi4+
MACHINE = slice(18, 20)
AARCH64 = b"\xb7\x00"


def layer(stack: Synthesised, description: str) -> Path:
    (found,) = [it for it in stack.all("AWS::Lambda::LayerVersion").values() if description in it["Description"]]
    return stack.asset(found["Content"])


def test_the_package_layer_holds_the_package_with_its_data(stack: Synthesised) -> None:
    package = layer(stack, "mailfold package") / "python/mailfold"

    assert (package / "settings.py").is_file()
    assert list((package / "store").rglob("*.sql"))
    assert list((package / "store").rglob("*.pem"))


def test_no_function_carries_a_command_line(stack: Synthesised) -> None:
    ours = [layer(stack, "mailfold package")]
    ours += [stack.asset(it["Code"]) for it in stack.all("AWS::Lambda::Function").values()]
    modules = [path for folder in ours for path in folder.rglob("*.py")]

    assert {path.name for path in modules} >= {"handler.py", "settings.py"}
    assert [path.name for path in modules if imported(path) & {"argparse", "getopt", "getpass", "optparse"}] == []


def imported(module: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(module.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[0] for name in plain} | {
        (node.module or "").split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)
    }


def test_the_third_party_layer_is_made_for_lambda(stack: Synthesised) -> None:
    folder = layer(stack, "Third-party") / "python"
    compiled = list(folder.rglob("*.so"))

    assert {"pg8000", "cryptography", "aws_lambda_powertools"} <= {it.name for it in folder.iterdir()}
    assert compiled
    assert {it.read_bytes()[MACHINE] for it in compiled} == {AARCH64}
    assert not (folder / "boto3").exists()


def test_no_asset_holds_leavings(stack: Synthesised) -> None:
    left = [
        path
        for folder in stack.folder.glob("asset.*")
        for path in folder.rglob("*")
        if path.name in ("__pycache__", "bin", "RECORD", ".lock") or path.suffix == ".pyc"
    ]

    assert left == []


def test_leavings_do_not_change_the_hash(tmp_path: Path) -> None:
    clean = shutil.copytree(
        ROOT / "functions/process", tmp_path / "clean", ignore=shutil.ignore_patterns("__pycache__")
    )
    used = shutil.copytree(clean, tmp_path / "used")
    (used / "__pycache__").mkdir()
    (used / "__pycache__/handler.cpython-311.pyc").write_bytes(b"x")
    (used / ".mypy_cache").mkdir()
    (used / ".mypy_cache/x.json").write_text("{}")
    changed = shutil.copytree(clean, tmp_path / "changed")
    (changed / "handler.py").write_text("")

    def fingerprint(folder: Path) -> str:
        return FileSystem.fingerprint(str(folder), exclude=JUNK)

    assert fingerprint(used) == fingerprint(clean)
    assert fingerprint(changed) != fingerprint(clean)


def test_two_builds_are_identical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    for name in ("first", "second"):
        monkeypatch.setattr(dependencies, "BUILD", tmp_path / name)
        built.append(build_dependencies(platform=PLATFORM, python_version=PYTHON_VERSION))

    assert built[0].parent != built[1].parent
    assert FileSystem.fingerprint(str(built[0])) == FileSystem.fingerprint(str(built[1]))


def test_a_build_is_reused_until_the_lock_or_the_target_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[Path] = []

    def install(folder: Path, *_: str | None) -> None:
        folder.mkdir(parents=True)
        installed.append(folder)

    lock = tmp_path / "requirements.txt"
    lock.write_text("a==1\n")
    monkeypatch.setattr(dependencies, "LOCK", lock)
    monkeypatch.setattr(dependencies, "BUILD", tmp_path / "build")
    monkeypatch.setattr(dependencies, "_install", install)

    first = build_dependencies(platform=PLATFORM, python_version=PYTHON_VERSION)
    again = build_dependencies(platform=PLATFORM, python_version=PYTHON_VERSION)
    here = build_dependencies(platform=None, python_version=None)
    lock.write_text("a==2\n")
    later = build_dependencies(platform=PLATFORM, python_version=PYTHON_VERSION)

    assert first == again
    assert len({first, here, later}) == 3
    assert len(installed) == 3


def test_a_failed_build_leaves_nothing_to_reuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "requirements.txt"
    lock.write_text("no-such-package==1 --hash=sha256:00\n")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setattr(dependencies, "LOCK", lock)
    monkeypatch.setattr(dependencies, "BUILD", tmp_path / "build")

    with pytest.raises(SystemExit, match="third-party layer"):
        build_dependencies(platform=PLATFORM, python_version=PYTHON_VERSION)

    assert list((tmp_path / "build").iterdir()) == []
