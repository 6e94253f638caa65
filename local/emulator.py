"""The emulated AWS: MiniStack, in an environment and a session of its own, on loopback only."""

import contextlib
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

from cli.local_aws import REGION
from local.child_process import as_child
from local.errors import LocalError
from local.options import PORT_VARIABLE, ROOT
from local.ports import LOOPBACK, require_free

START_SECONDS = 60.0
STOP_SECONDS = 5.0


class Emulator:
    """One MiniStack process and the function processes it starts."""

    def __init__(self, *, port: int, scratch: Path, log: Path) -> None:
        self.endpoint = f"http://{LOOPBACK}:{port}"
        self._port = port
        self._scratch = scratch
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The emulator's process id while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start and return once requests are answered."""
        require_free(self._port, PORT_VARIABLE)
        python = ROOT / ".venv-stack/bin/python"
        if not python.exists():
            raise LocalError(f"{python} is missing: run `make setup-run`.")
        with self._log.open("ab") as log:
            # Nothing of it is worth saving, and a kill cannot be put off: its functions end with their input.
            self._process = as_child(
                [python, "-m", "ministack"],
                cwd=self._scratch,
                env=self._environment(),
                output=log,
                farewell=signal.SIGKILL,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise LocalError(f"The emulator did not start; see {self._log}.")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the emulator and whatever it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _environment(self) -> dict[str, str]:
        # The functions inherit all of this, so nothing of the developer's own may be in it.
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": str(self._scratch),
            "TMPDIR": str(self._scratch),
            "BIND_HOST": LOOPBACK,
            "MINISTACK_HOST": LOOPBACK,
            "GATEWAY_PORT": str(self._port),
            "MINISTACK_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            # Docker, should there be one, is none of its business.
            "DOCKER_HOST": f"unix://{self._scratch}/no-docker.sock",
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
        }

    def _answers(self) -> bool:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.endpoint}/_ministack/health", timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False
