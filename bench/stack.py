"""A local stack of the benchmark's own, and a look from outside at what it does."""

import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bench.door import SignedRequest
from cli.local_stack import STATE_VARIABLE, Stack, StackNotRunning, read_stack
from local.database import connect
from local.options import PG_PORT_VARIABLE, PORT_VARIABLE, ROOT
from local.ports import free_port
from samples import Keys

#: How often the reader looks for rows: a commit is seen this much late at most.
LOOK_S = 0.004
PATIENCE_S = 30.0
START_S = 120.0

SEEN = "select claim_key from claims where claim_key = any(:claim_keys)"


@dataclass(frozen=True, kw_only=True)
class Flood:
    """What became of requests that were sent as fast as they were answered."""

    #: From the first POST until the last request's events were seen committed.
    seconds: float
    #: Of each request, from POST until it was answered 200.
    until_answer: Sequence[float]
    #: Of each request, from POST until its events were seen committed.
    until_commit: Sequence[float]


class RunningStack:
    """The deployed template in the emulator, beside its own Postgres."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self._reader = connect(stack.dsn)
        source = stack.sources["sendgrid"]
        self.keys = Keys(secret=source.secret or "", signer=source.signer or "")
        self._url = urlsplit(stack.base_url)

    def post(self, request: SignedRequest, *, source: str = "sendgrid", status: int = 200) -> tuple[float, float]:
        """Send one request over a connection of its own, and return when it was sent and when it was answered."""
        connection = http.client.HTTPConnection(self._url.netloc, timeout=PATIENCE_S)
        sent_at = time.perf_counter()
        connection.request("POST", f"{self._url.path}/webhooks/{source}", request.body, dict(request.headers))
        response = connection.getresponse()
        response.read()
        answered_at = time.perf_counter()
        connection.close()
        if response.status != status:
            raise RuntimeError(f"the door answered {response.status} instead of {status}")
        return sent_at, answered_at

    def flood(self, requests: Sequence[SignedRequest], *, threads: int) -> Flood:
        """Send the requests from some threads, while a reader looks for their claims."""
        began_at = time.perf_counter()
        with ThreadPoolExecutor(threads) as senders:
            sent = {request.claim_key: senders.submit(self.post, request) for request in requests}
            seen_at = self._await_commits(sent, began_at + PATIENCE_S)
        posts = {key: future.result() for key, future in sent.items()}
        return Flood(
            seconds=max(seen_at.values()) - began_at,
            until_answer=[answered_at - sent_at for sent_at, answered_at in posts.values()],
            until_commit=[seen_at[key] - sent_at for key, (sent_at, _) in posts.items()],
        )

    def _await_commits(self, sent: dict[str, Future[tuple[float, float]]], deadline: float) -> dict[str, float]:
        seen_at: dict[str, float] = {}
        while waiting := [key for key in sent if key not in seen_at]:
            rows = self._reader.run(SEEN, claim_keys=waiting)
            # Taken after the answer: a claim and its events become visible in one commit, before this moment.
            seen_at.update({key: time.perf_counter() for (key,) in rows})
            if time.perf_counter() > deadline:
                raise RuntimeError(f"{len(waiting)} requests were not folded in {PATIENCE_S:.0f} s")
            time.sleep(LOOK_S)
        return seen_at

    def stored(self) -> int:
        """Count the events that are stored."""
        [[number]] = self._reader.run("select count(*) from email_events")
        return int(number)

    def close(self) -> None:
        """Close the reader's connection."""
        self._reader.close()


@contextmanager
def running_stack() -> Iterator[RunningStack]:
    """Start a stack on free ports in a folder that is gone afterwards."""
    # Beside the project, not in /tmp, which may be memory: an fsync has to cost what it costs on a disk.
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".bench-", ignore_cleanup_errors=True) as folder:
        state = Path(folder) / "state"
        ports = {PORT_VARIABLE: str(free_port()), PG_PORT_VARIABLE: str(free_port())}
        run = subprocess.Popen(
            [sys.executable, "-m", "local.run"],
            cwd=ROOT,
            env={**os.environ, **ports, STATE_VARIABLE: str(state)},
            stdout=subprocess.DEVNULL,
        )
        try:
            running = RunningStack(_await_stack(run, state))
            try:
                yield running
            finally:
                running.close()
        finally:
            _stop(run)


def _await_stack(run: "subprocess.Popen[bytes]", state: Path) -> Stack:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and run.poll() is None:
        try:
            return read_stack(state)
        except StackNotRunning:
            time.sleep(0.1)
    raise RuntimeError("the local stack did not start")


def _stop(run: "subprocess.Popen[bytes]") -> None:
    run.terminate()
    try:
        run.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        # Both servers die with the runner, however it dies.
        run.kill()
        run.wait()
