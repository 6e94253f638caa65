"""Run the CDK's command line, installing its pinned version into .venv on first use: python -m local.cdk deploy."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from infra.node import node_path, npm_path, prepare_cdk

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv/cdk"
PROGRAM = FOLDER / "node_modules/aws-cdk/bin/cdk"

# The newest version on npm, a 3.0.0, is no release of this tool; the 2.11xx line is.
VERSION = "2.1147.0"
INTEGRITY = "sha512-2ON/W4jShXWS926bKO6Osgw3MDlxhco5cz3n7SS5GLzaEaYs6ebpAHRDZp6sirkGnMqWoUwxCmIOkvAHS9Rn2A=="


def main() -> None:
    """Run the tool with the given arguments in the project's root, and leave with its exit code."""
    if not _is_installed():
        _install()
    prepare_cdk()
    # The tool would keep its caches in the home directory, and report its use to AWS.
    os.environ.setdefault("CDK_HOME", str(ROOT / ".build/cdk"))
    os.environ.setdefault("CDK_DISABLE_CLI_TELEMETRY", "true")
    sys.exit(subprocess.run([node_path(), str(PROGRAM), *sys.argv[1:]], cwd=ROOT).returncode)


def _is_installed() -> bool:
    package = FOLDER / "node_modules/aws-cdk/package.json"
    return package.is_file() and json.loads(package.read_text())["version"] == VERSION


def _install() -> None:
    """Install from a lock file of one entry, so that npm checks the archive against our digest."""
    print(f"installing the CDK's command line {VERSION} ...", file=sys.stderr, flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    wanted = {"dependencies": {"aws-cdk": VERSION}}
    locked = {"": wanted, "node_modules/aws-cdk": {"version": VERSION, "integrity": INTEGRITY}}
    (FOLDER / "package.json").write_text(json.dumps(wanted))
    (FOLDER / "package-lock.json").write_text(json.dumps({"lockfileVersion": 3, "packages": locked}))
    options = [
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
        f"--cache={FOLDER / 'cache'}",
    ]
    done = subprocess.run([node_path(), npm_path(), "ci", *options], cwd=FOLDER, stdout=sys.stderr)
    if done.returncode != 0:
        shutil.rmtree(FOLDER, ignore_errors=True)
        sys.exit(f"npm could not install aws-cdk {VERSION} (exit {done.returncode}).")
    shutil.rmtree(FOLDER / "cache", ignore_errors=True)


if __name__ == "__main__":
    main()
