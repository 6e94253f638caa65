"""Start a program that ends when its parent does, as another user if asked."""

import ctypes
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

PR_SET_PDEATHSIG = 1


def as_child(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str],
    output: IO[bytes],
    user: str | None = None,
    farewell: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own; `farewell` reaches it should the calling thread die, even by kill -9."""
    child_process = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(farewell)), user or ""]
    return subprocess.Popen(
        [*child_process, *map(str, command)],
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def main(parent: str, farewell: str, user: str, *command: str) -> None:
    """Drop privileges, tie this process to its parent and become the command."""
    if user:
        entry = pwd.getpwnam(user)
        os.setgroups([])
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
    if sys.platform == "linux":
        # After setuid, which clears the setting; it survives the exec below: man 2 PR_SET_PDEATHSIG.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(farewell), 0, 0, 0)
        if os.getppid() != int(parent):
            sys.exit("the parent died before its child was ready")
    os.execv(command[0], command)  # noqa: S606  # nosec B606 - no shell is the point


if __name__ == "__main__":
    main(*sys.argv[1:])
