"""The embedded server: it keeps what was committed and leaves nothing running."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pg8000.native
import pytest

from local import binaries
from local.errors import LocalError
from local.ports import free_port
from local.postgres import PostgresServer

OWNER_PROGRAM = """
import sys, time
from pathlib import Path
from local.postgres import PostgresServer
server = PostgresServer(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""


def connect(server: PostgresServer) -> pg8000.native.Connection:
    return pg8000.native.Connection("postgres", host="127.0.0.1", port=server.port, database="postgres", timeout=10)


def running(pid: int) -> bool:
    """Whether a process does anything still; one that waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def await_that(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.02)


def processes_of(server: PostgresServer) -> list[int]:
    assert server.pid
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    return [server.pid, *map(int, children)]


def test_it_listens_on_loopback_with_the_promised_settings(tmp_path: Path) -> None:
    with PostgresServer(tmp_path / "postgres") as server, connect(server) as connection:
        wanted = "listen_addresses", "unix_socket_directories", "fsync", "synchronous_commit", "server_encoding"
        shown = [connection.run(f"show {name}")[0][0] for name in wanted]
        collation = connection.run("select datcollate from pg_database where datname = 'postgres'")[0][0]

    assert shown == ["127.0.0.1", "", "on", "on", "UTF8"]
    assert collation == "C"
    assert server.url("mailfold", "reader").endswith(f"reader@127.0.0.1:{server.port}/mailfold?sslmode=disable")


def test_committed_rows_survive_kill_9_and_a_restart_elsewhere(tmp_path: Path) -> None:
    server = PostgresServer(tmp_path / "postgres")
    with server:
        with connect(server) as connection:
            connection.run("create table kept (n int)")
            connection.run("insert into kept values (7)")
        server.stop(mode="kill")

        server.start()
        with connect(server) as connection:
            assert connection.run("select n from kept") == [[7]]

    with PostgresServer(tmp_path / "postgres") as again, connect(again) as connection:
        assert connection.run("select n from kept") == [[7]]


@pytest.mark.parametrize("mode", ["fast", "immediate", "kill"])
def test_stop_leaves_no_process(tmp_path: Path, mode: str) -> None:
    server = PostgresServer(tmp_path / "postgres")
    server.start()
    family = processes_of(server)
    assert len(family) > 1

    server.stop(mode=mode)

    await_that(lambda: not any(map(running, family)))
    server.stop()


def test_the_server_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER_PROGRAM, str(tmp_path / "postgres")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.getcwd()}) as owner:
        assert owner.stdout
        pid = int(owner.stdout.readline())
        assert running(pid)

        owner.send_signal(signal.SIGKILL)

    await_that(lambda: not running(pid))
    with PostgresServer(tmp_path / "postgres") as server:
        assert server.pid


def test_a_pid_file_that_names_another_program_is_no_obstacle(tmp_path: Path) -> None:
    server = PostgresServer(tmp_path / "postgres")
    server.start()
    record = (server.data / "postmaster.pid").read_text().splitlines()
    server.stop()
    with subprocess.Popen(["sleep", "600"], user=binaries.server_user()) as stranger:
        (server.data / "postmaster.pid").write_text("\n".join([str(stranger.pid), *record[1:]]) + "\n")
        try:
            server.start()

            assert server.pid
            server.stop()
        finally:
            stranger.kill()


def test_a_folder_in_use_is_refused(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.postgres.LEAVE_SECONDS", 0.1)

    with pytest.raises(LocalError, match=f"process {postgres_server.pid}.*{postgres_server.data}"):
        PostgresServer(postgres_server.data).start()


def test_a_half_made_folder_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "postgres.new").mkdir()
    (tmp_path / "postgres.new/PG_VERSION").write_text("18")

    with PostgresServer(tmp_path / "postgres") as server, connect(server) as connection:
        assert connection.run("select 1") == [[1]]


def test_a_taken_port_is_named_with_a_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(LocalError, match=f"Port {port} is taken.*MAILFOLD_PG_PORT="):
            PostgresServer(tmp_path / "postgres", port=port).start()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LocalError, match=r"cannot be (created|written)"):
        PostgresServer(tmp_path / "file/postgres", port=free_port()).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")
def test_programs_behind_a_closed_folder_are_copied_for_the_other_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = binaries.find_binaries()
    root, _ = binaries._installation(found)
    (tmp_path / "closed").symlink_to(root)
    hidden = tmp_path / "closed" / found.relative_to(root)
    with tempfile.TemporaryDirectory() as public:
        Path(public).chmod(0o755)
        monkeypatch.setattr("tempfile.tempdir", public)

        reachable = binaries.reachable_binaries(hidden, "nobody")

        assert reachable.is_relative_to(public)
        assert binaries.reachable_binaries(hidden, "nobody") == reachable


def test_programs_laid_by_somebody_else_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = binaries._copied(binaries.find_binaries())
    copy = next(tmp_path.iterdir())
    assert place.is_relative_to(copy)
    copy.chmod(0o777)

    with pytest.raises(LocalError, match="is not ours"):
        binaries._copied(binaries.find_binaries())
