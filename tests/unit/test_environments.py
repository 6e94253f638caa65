"""Each environment has what its purpose imports, at the versions of the top lock file, and nothing without a digest."""

import ast
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from local import bootstrap
from local.bootstrap import LOCKS, PURPOSES, needed

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([\w.-]+)==([\w.]+)", re.MULTILINE)
#: Folders of ours, by the name that they are imported under.
OURS = {"bench", "cli", "functions", "infra", "local", "mailfold", "samples", "tests", "handler", "email_events"}
OF_VENV = [name for name in LOCKS if name not in bootstrap.APART]


def pins(lock: str) -> set[tuple[str, str]]:
    return set(PIN.findall((ROOT / lock).read_text()))


def modules(folder: str) -> list[Path]:
    found = [path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts]
    assert found
    # What tests and benchmarks share is no part of a run.
    return [path for path in found if folder != "local" or "testing" not in path.parts]


def imported(folder: str) -> set[str]:
    """Return the packages that are not ours and that anything in a folder imports, however late."""
    trees = [ast.walk(ast.parse(path.read_text())) for path in modules(folder)]
    nodes = [node for tree in trees for node in tree]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names} - OURS - sys.stdlib_module_names


@pytest.mark.parametrize(
    ("purpose", "folders"),
    [
        ("cli", ["cli", "samples", "layers/mailfold"]),
        ("run", ["cli", "samples", "layers/mailfold", "functions", "infra", "local"]),
        ("test", ["tests", "local/testing"]),
    ],
)
def test_a_purpose_has_all_that_its_folders_import(purpose: str, folders: list[str]) -> None:
    brought_by = packages_distributions()
    installed = {name for lock in needed([purpose])[".venv"] for name, _ in pins(lock)}

    for package in set().union(*map(imported, folders)):
        assert installed & {name.lower().replace("_", "-") for name in brought_by[package]}, f"{purpose}: {package}"


def test_the_command_line_loads_nothing_of_a_wider_purpose() -> None:
    program = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]; print(*sys.modules)"
    ours = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in modules("cli")]
    path = f"{ROOT / 'layers/mailfold/python'}:{ROOT}"
    answer = subprocess.run(
        [sys.executable, "-c", program, *ours], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    brought_by = packages_distributions()
    loaded = {name.split(".")[0] for name in answer.stdout.split()}
    wider = {name for name, _ in pins("requirements.txt") - pins("cli/requirements.txt")}

    # botocore takes certifi where it is, and does without it.
    assert {it.lower() for name in loaded for it in brought_by.get(name, ())} & wider <= {"certifi"}


@pytest.mark.parametrize("purpose", ["test", "bench"])
def test_the_wider_purposes_have_all_of_the_narrower_ones(purpose: str) -> None:
    assert set(PURPOSES["cli"]) < set(PURPOSES["run"]) < set(PURPOSES[purpose])


@pytest.mark.parametrize("name", [name for name in OF_VENV if name != "bench/requirements"])
def test_the_locks_of_one_environment_agree(name: str) -> None:
    assert pins(f"{name}.txt") <= pins("requirements.txt")


def test_what_only_the_figures_need_disturbs_nothing_else() -> None:
    versions = dict(pins("requirements.txt"))

    assert [(name, it) for name, it in pins("bench/requirements.txt") if versions.get(name, it) != it] == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_a_digest_and_no_lock_names_a_host(name: str) -> None:
    text = (ROOT / f"{name}.txt").read_text()

    lines = text.replace("\\\n", " ").splitlines()
    assert lines
    assert [line for line in lines if "==" not in line or "--hash=sha256:" not in line] == []
    assert "://" not in text


def test_the_first_tool_is_installed_by_its_digest_too() -> None:
    lines = bootstrap.pinned("uv").splitlines()

    assert re.fullmatch(r"uv==[\d.]+ \\", lines[0])
    assert all("--hash=sha256:" in line for line in lines[1:])
    assert [line.endswith("\\") for line in lines] == [True] * (len(lines) - 1) + [False]


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What bootstrap would have run, in a project of two lock files."""
    commands: list[tuple[str, ...]] = []
    (tmp_path / "small.txt").write_text("a==1")
    (tmp_path / "large.txt").write_text("a==1\nb==1")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").touch()
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "uv", lambda: ("uv",))
    monkeypatch.setattr(bootstrap, "run", lambda *command, **_: commands.append(command))
    return commands


def test_an_environment_is_extended_once_and_never_shrinks(commands: list[tuple[str, ...]]) -> None:
    environment = bootstrap.ROOT / ".venv"

    for locks in (["small.txt"], ["small.txt"], ["small.txt", "large.txt"], ["small.txt"]):
        bootstrap.ensure(environment, locks)

    assert [command[-2:] for command in commands] == [
        (str(environment / "bin/python"), "small.txt"),
        ("small.txt", "large.txt"),
    ]


def test_a_changed_lock_is_installed_with_the_others(commands: list[tuple[str, ...]]) -> None:
    environment = bootstrap.ROOT / ".venv"
    bootstrap.ensure(environment, ["small.txt", "large.txt"])
    (bootstrap.ROOT / "large.txt").write_text("a==1\nb==2")

    bootstrap.ensure(environment, ["small.txt"])

    assert [command[-2:] for command in commands] == [("small.txt", "large.txt")] * 2


def test_a_purpose_that_is_unknown_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "tests"])

    with pytest.raises(SystemExit, match=r"'tests' is not a purpose: choose from cli, run, test, bench\."):
        bootstrap.main()
