"""Kill the processes of one function while it works, as an operating system may at any moment."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pg8000.native

from local.database import connect

#: How long to look for a process in the middle of a transaction before any process will do.
SEARCH_SECONDS = 3.0
#: How often to look at the transactions before looking again which processes there are.
LOOKS = 50
#: One kill in this many is of any process at all, whatever it is doing.
ANY = 4
#: How long traffic is held back for the next kill before it goes on without it.
PATIENCE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 0.5

BUSY = "select client_port from pg_stat_activity where usename = :role and state <> 'idle' and xact_start is not null"


def workers(function: str) -> list[int]:
    """Return the ids of the processes that run this function; the emulator names their folder after it."""
    needle = f"ministack-lambda-{function}-".encode()
    return [pid for pid in _processes() if needle in _read(Path(f"/proc/{pid}/cmdline"))]


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def connections(function: str) -> dict[int, int]:
    """Return the processes of this function that are connected to anything, by the local port of the connection."""
    sockets = [line.split() for line in _read(Path("/proc/net/tcp")).decode().splitlines()[1:]]
    ports = {f"socket:[{fields[9]}]": int(fields[1].rpartition(":")[2], 16) for fields in sockets}
    found = {}
    for pid in workers(function):
        with contextlib.suppress(OSError):
            links = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
            found.update({ports[link]: pid for link in links if link in ports})
    return found


class Killer(threading.Thread):
    """Kills one process of a function at a time, most of them in the middle of a transaction."""

    def __init__(self, *, function: str, role: str, dsn: str, kills: int, rng: Random) -> None:
        super().__init__(daemon=True, name="killer")
        self.killed = 0
        #: Of those, how many were in the middle of a transaction.
        self.in_transaction = 0
        self._function = function
        self._role = role
        self._dsn = dsn
        self._kills = kills
        self._rng = rng
        self._stopped = threading.Event()

    def run(self) -> None:
        """Kill until it was often enough, or until stopped."""
        if self._kills == 0:
            return
        # Only a superuser sees what the sessions of another role are doing.
        with connect(self._dsn, user="postgres") as connection:
            while self.killed < self._kills and not self._stopped.wait(self._rng.uniform(0, LONGEST_PAUSE_SECONDS)):
                if self.killed % ANY == ANY - 1 or not self._kill_in_transaction(connection):
                    self._kill_any()

    def stop(self) -> None:
        """Let no further process be killed."""
        self._stopped.set()
        self.join()

    def pace(self, share: float) -> None:
        """Hold traffic back until the kills have come as far as it has, so that there is work to interrupt."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.is_alive() and self.killed < share * self._kills - 1 and time.monotonic() < deadline:
            time.sleep(0.01)

    def _kill_in_transaction(self, connection: pg8000.native.Connection) -> bool:
        deadline = time.monotonic() + SEARCH_SECONDS
        while time.monotonic() < deadline and not self._stopped.is_set():
            known = connections(self._function)
            for _ in range(LOOKS):
                busy: Any = connection.run(BUSY, role=self._role)
                if any(self._kill(known[port]) for (port,) in busy if port in known):
                    self.in_transaction += 1
                    return True
                time.sleep(0.001)
        return False

    def _kill_any(self) -> None:
        alive = workers(self._function)
        if alive:
            self._kill(self._rng.choice(alive))

    def _kill(self, pid: int) -> bool:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.killed += 1
            return True
        return False
