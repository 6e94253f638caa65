"""One local stack for all tests that only send to it."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pg8000.native
import pytest

from cli.local_stack import Stack, read_stack
from local.assembly import synthesise
from local.database import connect
from tests.e2e.support import LocalRun


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRun]:
    """The running stack's process."""
    run = LocalRun(tmp_path_factory.mktemp("stack") / "state")
    # It only adds; the stacks of the lifecycle are as cdk.json says.
    run.environment["MAILFOLD_PUBLISH"] = "1"
    try:
        run.start()
        yield run
        assert run.end(signal.SIGTERM) == 0
        assert run.processes() == []
    finally:
        run.clear()


@pytest.fixture(scope="session")
def stack(running: LocalRun) -> Stack:
    """Where the running stack is."""
    return read_stack(running.state)


@pytest.fixture
def database(stack: Stack) -> Iterator[pg8000.native.Connection]:
    """The running stack's database, as its owner."""
    with connect(stack.dsn) as connection:
        yield connection


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The CDK app's output."""
    folder = tmp_path_factory.mktemp("assembly") / "cdk.out"
    synthesise(folder)
    return folder
