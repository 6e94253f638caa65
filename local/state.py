"""The folder of one local stack: its database, keys, logs and whereabouts."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from cli.local_stack import Stack, locked
from local.errors import LocalError

#: Long enough to outwait somebody who only looks whether a stack is running.
LOCK_SECONDS = 0.5


class StateFolder:
    """The paths under one folder, and the lock that keeps a second run out of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.postgres = path / "postgres"
        self.logs = path / "logs"
        self.scratch = path / "tmp"
        self.assembly = path / "cdk.out"
        self.keys = path / "keys.json"
        self.stack = path / "stack.json"

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the folder for this process; the system lets go of it however the process ends."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("a+")
        except OSError as exc:
            raise LocalError(f"The state folder {self.path} cannot be written: {exc.strerror}.") from exc
        with lock:
            if not locked(lock, seconds=LOCK_SECONDS):
                raise LocalError(f"A stack is already running in {self.path}; stop it first.")
            self.stack.unlink(missing_ok=True)
            try:
                yield
            finally:
                self.stack.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove everything but the lock."""
        for entry in self.path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != "lock":
                entry.unlink()

    def prepare(self) -> None:
        """Make the folders, and empty those that do not outlive a run."""
        for folder in (self.scratch, self.assembly):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.logs, self.scratch):
            folder.mkdir(parents=True, exist_ok=True)

    def publish(self, stack: Stack) -> None:
        """Tell others where the stack is, all at once."""
        write_private(self.stack, asdict(stack))


def write_private(path: Path, content: object) -> None:
    """Write JSON that only its owner may read, and never half of it."""
    partial = path.with_name(f"{path.name}.new")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(content, file, indent=2)
    partial.rename(path)
