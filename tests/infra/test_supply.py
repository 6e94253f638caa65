"""make audit and make sbom: what they find, what they cannot know, and that the list is what CycloneDX means."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from local import sbom, supply
from local.bootstrap import LOCKS, ROOT

SAFE = {"name": "six", "version": "1.17.0", "vulns": []}
UNSAFE = {"name": "orjson", "version": "3.1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.2"]}]}
SKIPPED = {"name": "cffi", "skip_reason": "Dependency not found on PyPI and could not be audited: cffi (2.1.1)"}


class Tools:
    """Answers for bandit and pip-audit, and remembers what was asked."""

    def __init__(self, *packages: dict[str, Any], bandit: int = 0, written: str | None = None) -> None:
        self._answer = json.dumps({"dependencies": packages, "fixes": []}) if written is None else written
        self._bandit = bandit
        self.locks: list[str] = []

    def __call__(self, command: Sequence[str]) -> tuple[int, str]:
        if command[0].endswith("bandit"):
            return self._bandit, "Issue: [B602] shell\n" if self._bandit else ""
        self.locks.append(command[-1])
        return 0, self._answer


def test_every_lock_file_is_audited(capsys: pytest.CaptureFixture[str]) -> None:
    tools = Tools(SAFE)

    assert supply.main([], tools) == supply.CLEAN

    assert tools.locks == [f"{lock}.txt" for lock in LOCKS]
    assert len(tools.locks) >= 4
    told = capsys.readouterr().out
    assert "not audited" not in told
    assert "bandit: no findings" in told


@pytest.mark.parametrize(
    "tools",
    [Tools(SKIPPED), Tools(written=""), Tools(written="{}"), Tools(written="Traceback"), Tools()],
    ids=["not found", "nothing", "no answer", "an error", "no packages"],
)
def test_without_advisories_nothing_is_claimed(tools: Tools, capsys: pytest.CaptureFixture[str]) -> None:
    assert supply.main([], tools) == supply.CLEAN

    told = capsys.readouterr().out
    for lock in LOCKS:
        assert f"{lock}.txt: not audited: no advisory data reachable\n" in told
    assert f"{len(LOCKS)} of {len(LOCKS)} lock files not audited" in told
    assert "0 advisories" not in told
    assert supply.main(["--require-data"], tools) == supply.NOT_AUDITED


def test_what_could_be_looked_up_in_part_is_told_in_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert supply.main(["--require-data"], Tools(SAFE, SKIPPED)) == supply.NOT_AUDITED

    assert "1 packages audited, 0 advisories; 1 not audited: no advisory data reachable" in capsys.readouterr().out


@pytest.mark.parametrize("tools", [Tools(SAFE, UNSAFE), Tools(SAFE, bandit=1), Tools(SKIPPED, UNSAFE)], ids=str)
def test_a_finding_fails_it(tools: Tools) -> None:
    assert supply.main([], tools) == supply.FOUND


def test_an_advisory_is_told_with_the_version_that_is_fixed(capsys: pytest.CaptureFixture[str]) -> None:
    supply.main([], Tools(UNSAFE))

    assert "  orjson 3.1: PYSEC-1 (fixed in: 3.2)\n" in capsys.readouterr().out


def bandit(*targets: str) -> subprocess.CompletedProcess[str]:
    command = [supply.TOOLS / "bandit", "--quiet", "--configfile", ROOT / "pyproject.toml", "--recursive", *targets]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_our_code_is_clean() -> None:
    ran = bandit(*supply.CODE)

    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_settings_hide_no_unsafe_call(tmp_path: Path) -> None:
    (tmp_path / "unsafe.py").write_text(
        "import hashlib, pickle, subprocess\n"
        "def run(text, blob):\n"
        "    subprocess.run(text, shell=True)\n"
        "    hashlib.md5(text)\n"
        "    return pickle.loads(blob)\n"
    )

    ran = bandit(str(tmp_path))

    assert ran.returncode == 1
    assert {"B602", "B324", "B301"} <= set(re.findall(r"B\d{3}", ran.stdout))


def test_each_exception_of_bandit_has_a_number() -> None:
    lines = [
        line
        for folder in supply.CODE
        for path in ([ROOT / folder] if folder.endswith(".py") else (ROOT / folder).rglob("*.py"))
        for line in path.read_text().splitlines()
        if "nosec" in line
    ]

    assert [line for line in lines if not re.search(r"# nosec B\d{3}", line)] == []


VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(error) if error else 0)
"""


def validate(path: Path) -> subprocess.CompletedProcess[str]:
    command = [supply.TOOLS / "python", "-c", VALIDATE, path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_bill_of_materials_names_what_the_layer_holds(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    sbom.main(first)
    sbom.main(second)

    assert first.read_bytes() == second.read_bytes()
    ran = validate(first)
    assert (ran.returncode, ran.stderr) == (0, "")
    components = json.loads(first.read_text())["components"]
    pinned = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", sbom.LOCK.read_text(), re.MULTILINE))
    assert {each["name"]: each["version"] for each in components} == pinned
    for each in components:
        assert each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"
        [distribution] = each["externalReferences"]
        assert distribution["hashes"]
        assert each["licenses"]
    hashes = [each["content"] for part in components for each in part["externalReferences"][0]["hashes"]]
    assert sorted(hashes) == sorted(re.findall(r"sha256:([0-9a-f]{64})", sbom.LOCK.read_text()))


def test_the_validator_refuses_what_is_none(tmp_path: Path) -> None:
    bom = sbom.bom_of([])
    (tmp_path / "bom.json").write_text(json.dumps({**bom, "specVersion": "one", "components": [{"name": 5}]}))

    assert validate(tmp_path / "bom.json").returncode != 0


@pytest.mark.parametrize(
    ("name", "version", "why"),
    [("six", "0.0.1", "installed as [0-9.]+ and locked as 0.0.1"), ("no-such-package", "1", "is not installed")],
)
def test_a_licence_that_is_not_known_is_not_made_up(name: str, version: str, why: str) -> None:
    with pytest.raises(SystemExit, match=why):
        sbom.bom_of([sbom.Package(name=name, version=version, hashes=("0" * 64,))])


def test_both_are_offered_by_make() -> None:
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert {"audit", "sbom"} <= {line.split()[0] for line in told.splitlines() if line.strip()}


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_file_names_a_host(lock: str) -> None:
    assert re.findall(r"https?://|--(?:extra-)?index-url|--find-links", (ROOT / f"{lock}.txt").read_text()) == []
