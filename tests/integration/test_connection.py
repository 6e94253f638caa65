"""The connection: verified or refused, never a beat behind, and every error of the driver one of ours."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pg8000.native
import pytest

from mailfold.errors import DataRejected, StoreError, TransientStoreError
from mailfold.store.connection import PATIENCE_S, Database
from mailfold.store.rights import login_roles

TRANSIENT = ["40001", "40P01", "57P01", "57P03", "55P03", "53300", "08006", "25P02", "42P01", "42501", "58030", "XX000"]
DATA = ["22001", "22021", "22P02", "22P05", "23502", "23505", "23514", "54000", "54001"]


@pytest.fixture
def database(store: Any) -> Iterator[Database]:
    """A connection in the role of process."""
    database = Database(store.url("mailfold_process"))
    yield database
    database.close()


@contextmanager
def in_background(work: Callable[[], None]) -> Iterator[None]:
    thread = Thread(target=work)
    thread.start()
    yield
    thread.join()


@pytest.mark.parametrize(
    ("kind", "states"), [(TransientStoreError, TRANSIENT), (DataRejected, DATA)], ids=["transient", "data"]
)
def test_each_sqlstate_is_what_the_table_says(database: Database, kind: type[StoreError], states: list[str]) -> None:
    for state in states:
        with pytest.raises(kind, match=f"SQLSTATE {state}$") as failure:
            database.execute(f"do $$ begin raise exception 'ann@example.com' using errcode = '{state}'; end $$")

        assert type(failure.value) is kind
        assert "ann" not in str(failure.value)
    assert database.execute("select 1") == [[1]]


def test_small_writes_are_not_held_back(database: Database) -> None:
    database.execute("select 1")

    sock = database._connection._usock

    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert sock.gettimeout() == PATIENCE_S


def test_a_server_without_tls_is_refused_where_tls_is_asked_for(store: Any) -> None:
    database = Database(store.url("mailfold_process").replace("sslmode=disable", "sslmode=verify-full"))

    with pytest.raises(TransientStoreError, match="the connection failed") as failure:
        database.execute("select 1")

    assert isinstance(failure.value.__cause__, pg8000.native.InterfaceError)
    assert database._connection is None


def test_a_server_that_only_pretends_to_speak_tls_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        database = Database(f"postgresql://u@127.0.0.1:{port}/d?sslmode=verify-full")

        def accept_and_hang_up() -> None:
            connection, _ = server.accept()
            connection.recv(8)
            connection.sendall(b"S")
            connection.recv(512)
            connection.sendall(b"this is no handshake")
            connection.close()

        with in_background(accept_and_hang_up), pytest.raises(TransientStoreError):
            database.execute("select 1")


def test_after_a_value_that_cannot_be_bound_the_next_answer_is_its_own(database: Database) -> None:
    database.run("held", {"events": "[]"})
    before = database._connection

    with pytest.raises(UnicodeEncodeError):
        database.run("held", {"events": "\ud800"})

    assert [database.execute(f"select {number}") for number in (43, 44)] == [[[43]], [[44]]]
    assert database._connection is not before


def test_a_refused_value_rolls_back_and_keeps_the_connection(database: Database, store: Any) -> None:
    database.execute("select 1")
    before = database._connection

    def claim_and_stumble() -> None:
        with database.transaction() as tx:
            tx.run("claim", {"claims": '[{"claim_key":"k","request_hash":"h","source":"s"}]'})
            tx.run("held", {"events": "not json"})

    with pytest.raises(DataRejected):
        claim_and_stumble()

    assert database._connection is before
    assert store.value("select count(*) from claims") == 0
    with database.transaction() as tx:
        assert tx.execute("select 1") == [[1]]


def test_a_commit_that_did_not_happen_is_not_taken_for_one(database: Database) -> None:
    def swallow_the_error() -> None:
        with database.transaction() as tx:
            try:
                tx.execute("select 1 / 0")
            except DataRejected:
                return

    with pytest.raises(TransientStoreError):
        swallow_the_error()

    assert database.execute("select 1") == [[1]]


def test_statements_are_prepared_once_per_connection(database: Database) -> None:
    for _ in range(3):
        database.run("held", {"events": "[]"})

    assert database.execute("select count(*) from pg_prepared_statements where statement like '-- held%'") == [[1]]
    database.close()
    assert database.run("held", {"events": "[]"}) == []


def test_a_dead_connection_gives_its_socket_back_at_once(database: Database, store: Any) -> None:
    database.execute("select 1")
    sock = database._connection._usock
    store.rows(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and usename = 'mailfold_process'"
    )

    with pytest.raises(TransientStoreError) as failure:
        database.execute("select 1")

    # While the error is looked at, its frames keep alive whatever nobody closed.
    assert failure.value.__traceback__
    assert sock.fileno() == -1


def test_closing_is_harmless_at_any_time(database: Database) -> None:
    database.close()
    database.execute("select 1")
    database._connection._usock.close()

    database.close()

    assert database.execute("select 1") == [[1]]


def test_a_wrong_password_or_database_is_transient_and_quotes_nothing(store: Any) -> None:
    database = Database(store.url("mailfold_process").replace(store.name, "no_such_database"))

    with pytest.raises(TransientStoreError, match="SQLSTATE 3D000"):
        database.execute("select 1")


def test_a_connection_that_the_server_ended_for_idleness_is_replaced_when_the_next_transaction_begins(
    store: Any,
) -> None:
    database = Database(store.url("mailfold_process"))
    database.execute("set idle_session_timeout = '50ms'")
    [[pid]] = database.execute("select pg_backend_pid()")
    await_gone(store, pid)

    with database.transaction() as tx:
        [[other]] = tx.execute("select pg_backend_pid()")

    database.close()
    assert other != pid


def test_a_transaction_is_never_taken_up_on_another_connection(database: Database, store: Any) -> None:
    def lose_it() -> None:
        with database.transaction() as tx:
            [[pid]] = tx.execute("select pg_backend_pid()")
            store.rows(f"select pg_terminate_backend({pid}, 5000)")
            tx.execute("select 1")

    with pytest.raises(TransientStoreError):
        lose_it()


@pytest.mark.parametrize("role", login_roles())
def test_every_role_gives_its_idle_connections_back(store: Any, role: str) -> None:
    database = Database(store.url(role))

    [[limit]] = database.execute(
        "select cast(extract(epoch from cast(current_setting('idle_session_timeout') as interval)) as integer)"
    )

    database.close()
    assert 0 < limit <= (60 if role == "mailfold_query" else 600)


def await_gone(store: Any, pid: int) -> None:
    """Return once the server has ended this session."""
    deadline = time.monotonic() + 20
    while store.rows(f"select from pg_stat_activity where pid = {pid}"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
