"""A local stack as a child process, and ways to wait for what it does."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cli.local_stack import Stack, StackNotRunning, read_stack
from local.options import ROOT
from local.ports import free_port


def await_that(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.05)


class LocalRun:
    """`make run` with ports and a state folder of its own."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.environment = {
            **os.environ,
            "MAILFOLD_STATE": str(state),
            "MAILFOLD_PORT": str(free_port()),
            "MAILFOLD_PG_PORT": str(free_port()),
        }
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Stack:
        """Start and wait until the stack is ready."""
        self.process = self.spawn("local.run")
        await_that(lambda: self.ready() or self.process.poll() is not None, 120)
        assert self.process.poll() is None, self.process.communicate()[0]
        return read_stack(self.state)

    def ready(self) -> bool:
        """Tell whether a stack runs in this state folder."""
        try:
            return bool(read_stack(self.state))
        except StackNotRunning:
            return False

    def end(self, number: signal.Signals) -> int:
        """Send a signal and return the exit status."""
        assert self.process
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def clear(self) -> None:
        """Leave nothing running, whatever a test has come to."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def spawn(self, module: str, *arguments: str) -> "subprocess.Popen[str]":
        """Start one of the local tools against this state folder."""
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def call(self, module: str, *arguments: str, seconds: float = 200) -> tuple[int, str]:
        """Run one of the local tools to its end and return its exit status and its words."""
        with self.spawn(module, *arguments) as tool:
            try:
                words, _ = tool.communicate(timeout=seconds)
            finally:
                tool.kill()
        return tool.returncode, words

    def processes(self) -> list[int]:
        """Return every process that has to do with this state folder, however it was started."""
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self._ours(entry)]

    def _ours(self, entry: Path) -> bool:
        if int(entry.name) == os.getpid():
            return False
        try:
            words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            return str(self.state).encode() in words or Path(os.readlink(entry / "cwd")).is_relative_to(self.state)
        except OSError:
            return False
