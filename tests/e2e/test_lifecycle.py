"""Starting, stopping and dying: nothing is left running, and the data stays."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.local_aws import client
from cli.local_stack import Stack
from local.chaos import workers
from local.database import connect
from local.stack_info import deployed_functions
from tests.e2e.support import LocalRun, await_that


@pytest.fixture
def run(tmp_path: Path) -> Iterator[LocalRun]:
    run = LocalRun(tmp_path / "state")
    yield run
    run.clear()


def test_killed_it_leaves_nothing_running_and_starts_again_with_its_data(run: LocalRun) -> None:
    stack = run.start()
    keys = stack.sources
    with connect(stack.dsn) as database:
        database.run("create table kept (n int)")
        database.run("insert into kept values (7)")
    assert len(run.processes()) > 3

    run.end(signal.SIGKILL)
    await_that(lambda: not run.processes())
    assert not run.ready()
    stack = run.start()

    assert stack.sources == keys
    with connect(stack.dsn) as database:
        assert database.run("select n from kept") == [[7]]
    # A function that hangs cannot see that its input has ended.
    os.kill(workers(stack.functions["migrate"])[0], signal.SIGSTOP)
    assert run.end(signal.SIGINT) == 0
    assert run.processes() == []
    assert not (run.state / "stack.json").exists()


def test_it_ends_with_a_sentence_when_a_part_dies(run: LocalRun) -> None:
    run.start()
    assert run.process
    (emulator,) = [pid for pid in run.processes() if b"-m\0ministack" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    os.kill(emulator, signal.SIGKILL)
    words, _ = run.process.communicate(timeout=60)

    assert "The emulator has ended by itself" in words
    assert "Traceback" not in words
    assert run.process.returncode == 1
    await_that(lambda: not run.processes())


def test_a_reset_forgets(run: LocalRun) -> None:
    run.state.mkdir()
    (run.state / "keys.json").write_text("{}")
    (run.state / "postgres").mkdir()
    (run.state / "postgres/PG_VERSION").write_text("9")

    with run.spawn("local.run", "--reset") as process:
        await_that(lambda: run.ready() or process.poll() is not None, 120)
        assert process.poll() is None, process.communicate()[0]
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    assert (run.state / "postgres/PG_VERSION").read_text() != "9"
    assert run.processes() == []


def test_a_second_run_in_the_same_folder_is_refused(running: LocalRun) -> None:
    status, words = running.call("local.run")

    assert status == 1
    assert words.strip() == f"A stack is already running in {running.state}; stop it first."
    assert (running.state / "stack.json").exists()


@pytest.mark.parametrize("variable", ["MAILFOLD_PORT", "MAILFOLD_PG_PORT"])
def test_a_taken_port_is_named_with_its_variable(run: LocalRun, variable: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        run.environment[variable] = str(other.getsockname()[1])

        status, words = run.call("local.run")

    last = words.strip().splitlines()[-1]
    assert status == 1
    assert f"Port {run.environment[variable]} is taken" in last
    assert f"{variable}=" in last
    assert "Traceback" not in words
    assert run.processes() == []


@pytest.mark.parametrize("port", ["0", "x", "70000", ""])
def test_a_senseless_port_is_refused(run: LocalRun, port: str) -> None:
    run.environment["MAILFOLD_PORT"] = port

    status, words = run.call("local.run")

    assert (status, words.strip()) == (1, f"MAILFOLD_PORT must be a port from 1 to 65535, not {port!r}.")


def test_an_unwritable_state_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    run = LocalRun(tmp_path / "file/state")

    status, words = run.call("local.run")

    assert status == 1
    assert words.startswith(f"The state folder {run.state} cannot be written:")
    assert "Traceback" not in words


def test_secrets_are_private(running: LocalRun) -> None:
    for name in ("keys.json", "stack.json"):
        assert (running.state / name).stat().st_mode & 0o077 == 0


def test_it_listens_on_loopback_only(running: LocalRun) -> None:
    ports = {int(running.environment[name]) for name in ("MAILFOLD_PORT", "MAILFOLD_PG_PORT")}
    listening = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            address, port = line.split()[1].split(":")
            if line.split()[3] == "0A" and int(port, 16) in ports:
                listening.add((address, int(port, 16)))

    assert listening == {("0100007F", port) for port in ports}


def test_the_functions_logs_are_moved_into_files(running: LocalRun, stack: Stack) -> None:
    migrate = running.state / "logs/migrate.log"

    await_that(lambda: migrate.exists() and "REPORT" in migrate.read_text())

    group = deployed_functions(stack.aws_endpoint)["migrate"].log_group
    logs = client("logs", stack.aws_endpoint)
    await_that(lambda: logs.describe_log_streams(logGroupName=group)["logStreams"] == [])
    assert migrate.read_text().count("REPORT") == 1
