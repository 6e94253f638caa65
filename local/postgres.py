"""A real Postgres server that lives and dies with the process that starts it."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from local.binaries import find_binaries, reachable_binaries, server_user
from local.child_process import as_child
from local.errors import LocalError
from local.ports import free_port, require_free

START_SECONDS = 60.0
STOP_SECONDS = 30.0
LEAVE_SECONDS = 10.0
# What a server says while the remains of a killed one are still leaving: worth another try.
LEAVING = ("pre-existing shared memory block", 'lock file "postmaster.pid"')
SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT, "kill": signal.SIGKILL}


class PostgresServer:
    """One embedded Postgres, its data under a folder of ours."""

    def __init__(
        self,
        data: Path,
        *,
        port: int | None = None,
        settings: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        self.data = data.absolute()
        self.port = free_port() if port is None else port
        self.log = log or self.data.with_name(f"{self.data.name}.log")
        self._settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "port": str(self.port),
            **(settings or {}),
        }
        self._user = server_user()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        """Return the address of one database for one user."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def start(self) -> None:
        """Create the data folder on first use, start and return once connections are accepted."""
        if self.pid:
            return
        self._await_predecessor()
        require_free(self.port, "MAILFOLD_PG_PORT")
        binaries = reachable_binaries(find_binaries(), self._user)
        self._create(binaries / "initdb")
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        deadline = time.monotonic() + START_SECONDS
        while not self._started([binaries / "postgres", "-D", self._datadir(self.data), *options], deadline):
            time.sleep(0.1)

    def stop(self, *, mode: str = "fast") -> None:
        """Stop the server: `fast` ends the sessions and writes a checkpoint, `immediate` and `kill` are crashes."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(SIGNALS[mode])
        for last_resort in (signal.SIGQUIT, signal.SIGKILL):
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.send_signal(last_resort)
        process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _datadir(self, folder: Path) -> str:
        # The unprivileged user may be kept out by a parent folder (a 0700 home). The link to the working directory
        # needs no walk from the root, so no folder of anyone has to be opened up: man 5 proc_pid_cwd.
        return "/proc/self/cwd" if self._user else str(folder)

    def _create(self, initdb: Path) -> None:
        if (self.data / "PG_VERSION").exists():
            return
        # initdb leaves half a folder behind when it is killed, hence the rename at the end.
        partial = self.data.with_name(f"{self.data.name}.new")
        try:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True, mode=0o700)
            if self._user:
                shutil.chown(partial, self._user)
            arguments = ["-D", self._datadir(partial), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
            if self._spawn([initdb, *arguments], partial).wait() != 0:
                raise LocalError(f"initdb failed; {self.log} ends with: {self._last_words()}")
            partial.rename(self.data)
        except OSError as exc:
            raise LocalError(f"The database folder {self.data} cannot be created: {exc.strerror}.") from exc

    def _started(self, command: list[str | Path], deadline: float) -> bool:
        process = self._spawn(command, self.data)
        while process.poll() is None:
            if self._ready(process.pid):
                self._process = process
                return True
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise LocalError(f"Postgres was not ready after {START_SECONDS:.0f} s; see {self.log}.")
            time.sleep(0.02)
        words = self._last_words()
        if time.monotonic() > deadline or not any(sign in words for sign in LEAVING):
            raise LocalError(f"Postgres did not start; {self.log} ends with: {words}")
        return False

    def _spawn(self, command: list[str | Path], cwd: Path) -> subprocess.Popen[bytes]:
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
        try:
            with self.log.open("ab") as log:
                return as_child(command, cwd=cwd, env=environment, output=log, user=self._user, farewell=signal.SIGINT)
        except OSError as exc:
            raise LocalError(f"{self.log} cannot be written: {exc.strerror}.") from exc

    def _ready(self, pid: int) -> bool:
        # Lines 1 and 8 are what pg_ctl looks at as well: wait_for_postmaster_start in src/bin/pg_ctl/pg_ctl.c.
        lines = self._pid_file()
        return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    def _await_predecessor(self) -> None:
        # A server whose parent was killed needs a moment to leave. A recorded pid that is no server any more, after a
        # kill -9 of its own, would keep Postgres from starting.
        deadline = time.monotonic() + LEAVE_SECONDS
        while lines := self._pid_file():
            if not _is_server(lines[0]):
                (self.data / "postmaster.pid").unlink(missing_ok=True)
            elif time.monotonic() > deadline:
                raise LocalError(f"Another Postgres (process {lines[0]}) is using {self.data}; stop it first.")
            else:
                time.sleep(0.05)

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return " / ".join(line.strip() for line in lines[-3:])


def _is_server(pid: str) -> bool:
    try:
        name, _, rest = Path("/proc", pid, "stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return False
    # An ended process that nobody has collected yet still has its name.
    return name == "postgres" and rest.split()[0] != "Z"
