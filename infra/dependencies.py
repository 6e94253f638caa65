"""Build the layer of third-party packages from its lock file: for Lambda, or for the machine this runs on."""

import hashlib
import platform as machine
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "layers/dependencies/requirements.txt"
BUILD = ROOT / ".build"

# Scripts and installation records carry paths of this machine, and nothing in Lambda reads them. The metadata and the
# licences beside them stay.
LEFT_OUT = ("bin", ".lock", "*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/REQUESTED", "*.dist-info/sboms")


def build_dependencies(*, platform: str | None, python_version: str | None) -> Path:
    """Return a layer folder for a platform and Python that uv knows, or for this machine; built once per lock file."""
    target = BUILD / f"dependencies-{_digest(platform, python_version)}"
    if not target.is_dir():
        BUILD.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILD) as scratch:
            layer = Path(scratch) / "layer"
            _install(layer / "python", platform, python_version)
            _publish(layer, target)
    return target


def _digest(platform: str | None, python_version: str | None) -> str:
    here = (machine.system(), machine.machine(), *machine.python_version_tuple()[:2])
    wanted = (platform or here, python_version or here, version("uv"))
    recipe = Path(__file__).read_bytes()
    return hashlib.sha256(LOCK.read_bytes() + recipe + repr(wanted).encode()).hexdigest()[:16]


def _install(folder: Path, platform: str | None, python_version: str | None) -> None:
    """Install wheels only: a source distribution would be compiled for the wrong machine."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--only-binary", ":all:", "--link-mode", "copy", "--python", sys.executable]
    command += ["--python-platform", platform] if platform else []
    command += ["--python-version", python_version] if python_version else []
    done = subprocess.run([*command, "--target", str(folder), "--requirement", str(LOCK)])
    if done.returncode != 0:
        sys.exit(f"uv could not build the third-party layer (exit {done.returncode}).")
    for pattern in LEFT_OUT:
        for path in folder.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for cache in folder.rglob("__pycache__"):
        shutil.rmtree(cache)


def _publish(layer: Path, target: Path) -> None:
    """Move the finished layer into place; losing the race to another process is as good as winning it."""
    try:
        layer.rename(target)
    except OSError:
        if not target.is_dir():
            raise
