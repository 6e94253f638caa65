"""make audit: bandit over our own code, and the advisories of every locked package.

Where advisories cannot be had it says so of each lock file, and claims nothing.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from local.bootstrap import LOCKS, ROOT

TOOLS = ROOT / ".venv-tools/bin"
#: Whatever runs anywhere but in tests.
CODE = ("app.py", "bench", "cli", "functions", "infra", "layers/mailfold", "local", "samples")
CLEAN, FOUND, NOT_AUDITED = 0, 1, 3
TIMEOUT_S = 600

#: Runs a tool in the project's root and returns its exit code and what it wrote to standard output.
Run = Callable[[Sequence[str]], tuple[int, str]]


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What is known about the packages of one lock file."""

    lock: str
    #: Packages that were looked up, and those that no advisory data could be had for.
    known: int
    unknown: int
    #: One line for each advisory that names a locked version.
    advisories: tuple[str, ...]

    def __str__(self) -> str:
        if not self.known:
            return f"{self.lock}: not audited: no advisory data reachable"
        told = f"{self.lock}: {self.known} packages audited, {len(self.advisories)} advisories"
        return f"{told}; {self.unknown} not audited: no advisory data reachable" if self.unknown else told


def main(arguments: Sequence[str] | None = None, run: Run | None = None) -> int:
    """Return 1 if anything is found, else 3 if it was asked for and something could not be audited, else 0."""
    parser = argparse.ArgumentParser(prog="make audit", description=__doc__)
    parser.add_argument("--require-data", action="store_true", help="fail if a lock file could not be audited")
    parsed = parser.parse_args(arguments)
    run = run or _run
    unsafe, words = run([str(TOOLS / "bandit"), "--quiet", "--configfile", "pyproject.toml", "--recursive", *CODE])
    print("bandit: no findings" if unsafe == 0 else f"{words.rstrip()}\nbandit: findings above")
    audits = [audit_lock(f"{lock}.txt", run) for lock in LOCKS]
    for audit in audits:
        print(audit, *audit.advisories, sep="\n  ")
    if unsafe or any(audit.advisories for audit in audits):
        return FOUND
    missing = [audit for audit in audits if audit.unknown or not audit.known]
    if missing:
        print(f"{len(missing)} of {len(audits)} lock files not audited: nothing is known about their packages")
    return NOT_AUDITED if missing and parsed.require_data else CLEAN


def audit_lock(lock: str, run: Run) -> Audit:
    """Look up every package of a lock file."""
    options = ("--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off")
    _, words = run([str(TOOLS / "pip-audit"), *options, "--requirement", lock])
    try:
        packages: list[dict[str, Any]] = json.loads(words)["dependencies"]
    except (ValueError, KeyError, TypeError):
        # pip-audit writes no answer where it cannot reach its source at all.
        packages = []
    known = [package for package in packages if "vulns" in package]
    return Audit(
        lock=lock,
        known=len(known),
        unknown=len(packages) - len(known),
        advisories=tuple(line for package in known for line in _lines(package)),
    )


def _lines(package: dict[str, Any]) -> Iterator[str]:
    for advisory in package["vulns"]:
        fixed = ", ".join(advisory.get("fix_versions", [])) or "no fixed version"
        yield f"{package['name']} {package['version']}: {advisory['id']} (fixed in: {fixed})"


def _run(command: Sequence[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    except FileNotFoundError:
        sys.exit(f"{command[0]} is not there: run make setup")
    except subprocess.TimeoutExpired:
        return NOT_AUDITED, ""
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main())
