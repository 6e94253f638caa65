"""The folder of one local stack: its database, keys, logs and whereabouts."""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from local.errors import LocalError

#: Long enough to outwait somebody who only looks whether a stack is running.
LOCK_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class Source:
    """One source of the running stack, with both halves of its secret (none for a source that needs no secret)."""

    provider: str
    secret: str | None
    signer: str | None


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Where everything of a running stack is; what the demo, the tests and the benchmarks need to reach it."""

    #: `POST {base_url}/webhooks/{source}` is the door.
    base_url: str
    #: The database, as its owner.
    dsn: str
    queue_url: str
    dlq_url: str
    #: None when no source comes through the topic.
    topic_arn: str | None
    secret_id: str
    aws_endpoint: str
    region: str
    #: step -> name of its function
    functions: dict[str, str]
    #: name -> source
    sources: dict[str, Source]


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
            if not _locked(lock, seconds=LOCK_SECONDS):
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


def read_stack(state: Path) -> Stack:
    """Return where the stack that runs in this state folder is."""
    if not _running(state):
        raise LocalError(f"No stack is running in {state}: start one with `make run`.")
    found = json.loads((state / "stack.json").read_text())
    sources = {name: Source(**source) for name, source in found.pop("sources").items()}
    return Stack(**found, sources=sources)


def _running(state: Path) -> bool:
    # A run that was killed leaves the file behind, but not the lock.
    if not (state / "stack.json").exists():
        return False
    with (state / "lock").open() as lock:
        return not _locked(lock, seconds=0)


def _locked(lock: IO[str], *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.05)
        else:
            return True
