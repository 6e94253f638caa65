"""Create the project's environments; runs on a bare Python, before anything is installed."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)

# environment -> the lock file it is built from
ENVIRONMENTS = {
    ".venv": "requirements.txt",
    ".venv-stack": "local/requirements.txt",
    ".venv-tools": "tests/tools/requirements.txt",
}
LOCKS = ("requirements", "local/requirements", "layers/dependencies/requirements", "tests/tools/requirements")
#: These stand alone: what they pin need not agree with the rest.
APART = ("local/requirements", "tests/tools/requirements")


def main() -> None:
    """Bring the environments to what their lock files say, or compile the locks anew."""
    if sys.version_info < OLDEST:
        sys.exit(
            f"Mailfold needs Python {OLDEST[0]}.{OLDEST[1]} or newer; {sys.executable} is "
            f"{sys.version.split()[0]}. Name another one: make PYTHON=/path/to/python3"
        )
    if not os.access(ROOT, os.W_OK):
        sys.exit(f"{ROOT} is not writable: the environments and the state of the stack live there.")
    if "--lock" in sys.argv:
        compile_locks()
        return
    for environment, lock in ENVIRONMENTS.items():
        ensure(ROOT / environment, ROOT / lock)


def ensure(environment: Path, lock: Path) -> None:
    """Create or update one environment, unless its stamp says that it is already right."""
    wanted = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()
    stamp = environment / ".lock-digest"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"installing {environment.name} from {lock.relative_to(ROOT)} ...", flush=True)
    if not (environment / "bin/python").exists():
        run(sys.executable, "-m", "venv", str(environment))
    run(*uv(), "pip", "sync", "--quiet", "--require-hashes", "--python", str(environment / "bin/python"), str(lock))
    stamp.write_text(wanted)


def uv() -> tuple[str, ...]:
    """Return the command of uv at its locked version, installing it on first use."""
    python = ROOT / ".venv/bin/python"
    if subprocess.run([python, "-m", "uv", "--version"], capture_output=True).returncode != 0:
        pinned = next(line.split()[0] for line in (ROOT / "requirements.txt").open() if line.startswith("uv=="))
        run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", pinned)
    return str(python), "-m", "uv"


def compile_locks() -> None:
    """Resolve each requirements.in for every Python and platform we run on."""
    for name in LOCKS:
        options = ["--quiet", "--universal", "--python-version", "3.11", "--generate-hashes", "--no-header"]
        constraint = [] if name in APART else ["--constraint", str(ROOT / "requirements.in")]
        run(*uv(), "pip", "compile", *options, "--no-annotate", *constraint, f"{name}.in", "-o", f"{name}.txt")


def run(*command: str) -> None:
    """Run one command in the project's root and stop with its own words when it fails."""
    done = subprocess.run(command, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"\nset-up failed (exit {done.returncode}): {' '.join(command)}")


if __name__ == "__main__":
    main()
