"""The stack on this machine: where `make run` says that it is."""

import fcntl
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cli.errors import CommandError

_ROOT = Path(__file__).resolve().parent.parent
STATE_VARIABLE = "MAILFOLD_STATE"


class StackNotRunning(CommandError):
    """No local stack runs in this state folder."""


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


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder in which the local stack keeps its state."""
    return (_ROOT / environment.get(STATE_VARIABLE, ".local")).resolve()


def read_stack(state: Path) -> Stack:
    """Return where the stack that runs in this state folder is."""
    if not _running(state):
        raise StackNotRunning(f"No stack is running in {state}: start one with `make run`.")
    found = json.loads((state / "stack.json").read_text())
    sources = {name: Source(**source) for name, source in found.pop("sources").items()}
    return Stack(**found, sources=sources)


def _running(state: Path) -> bool:
    # A run that was killed leaves the file behind, but not the lock.
    if not (state / "stack.json").exists():
        return False
    with (state / "lock").open() as lock:
        return not locked(lock, seconds=0)


def locked(lock: IO[str], *, seconds: float) -> bool:
    """Take the lock of a state folder; False where another process holds it for so long."""
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
