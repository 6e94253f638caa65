"""One Postgres connection that outlives an invocation, and the border where the driver's errors become ours."""

import contextlib
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import pg8000.exceptions
import pg8000.native

from mailfold.errors import DataRejected, SettingsError, StoreError, TransientStoreError
from mailfold.store.iam import make_token
from mailfold.store.queries import query

#: Longer than a statement may take (roles.sql), shorter than its function; slower steps have a patience of their own.
PATIENCE_S = 25

# https://www.postgresql.org/docs/current/errcodes-appendix.html
#: The value is to blame: bad data, a broken constraint, a value too deep or too large for the server.
DATA_CLASSES = {"22", "23", "54"}

Parameter = str | int | bool
Rows = list[list[Any]]

_SHAPE = "DATABASE_URL must look like postgresql://user@host:port/database?sslmode=verify-full"


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where the database is and how to be let in."""

    host: str
    port: int
    database: str
    user: str
    password: str | None
    verified_tls: bool
    iam: bool

    @classmethod
    def from_url(cls, url: str) -> "Address":
        """Read ``postgresql://user@host:port/database?sslmode=verify-full&auth=iam``."""
        parts, port = _split(url)
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        if parts.scheme != "postgresql" or not parts.hostname or not parts.username:
            raise SettingsError(_SHAPE)
        verified_tls = options.get("sslmode", "verify-full") == "verify-full"
        if not verified_tls and parts.hostname not in {"127.0.0.1", "::1", "localhost"}:
            raise SettingsError("DATABASE_URL: only a database on this machine may be reached without verified TLS")
        return cls(
            host=parts.hostname,
            port=port or 5432,
            database=parts.path.lstrip("/"),
            user=unquote(parts.username),
            password=unquote(parts.password) if parts.password else None,
            verified_tls=verified_tls,
            iam=options.get("auth") == "iam",
        )


def _split(url: str) -> tuple[SplitResult, int | None]:
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        return parts, parts.port
    # The suppressed words would quote the URL, which may hold a password.
    raise SettingsError(_SHAPE)


class Database:
    """Connects when first needed and again whenever the connection cannot be trusted any more."""

    def __init__(self, url: str, *, patience_s: int = PATIENCE_S) -> None:
        self._url = url
        self._patience_s = patience_s
        self._address = Address.from_url(url)
        self._connection: Any = None
        #: How often it has connected: one that the server has ended meanwhile is opened again without a word.
        self.connects = 0
        self._prepared: dict[str, Any] = {}

    def sibling(self) -> "Database":
        """Return another way to the same database, with a connection of its own."""
        return Database(self._url, patience_s=self._patience_s)

    @contextlib.contextmanager
    def transaction(
        self, *, keep: bool = True, read_only: bool = False, role: str | None = None
    ) -> Iterator["Transaction"]:
        """Run the block in one transaction: committed when it ends unless it is only tried, gone when it raises."""
        self._begin("begin read only" if read_only else "begin")
        try:
            if role is not None:
                self.execute(f"set local role {role}")
            yield Transaction(self)
        except BaseException:
            self._rollback()
            raise
        self.execute("commit" if keep else "rollback")

    def execute(self, sql: str) -> Rows:
        """Run statements without parameters, in one round trip."""
        with self._translated():
            return list(self._connected().run(sql) or [])

    def run(self, name: str, parameters: Mapping[str, Parameter]) -> Rows:
        """Run a named statement, prepared once per connection, in one round trip."""
        with self._translated():
            connection = self._connected()
            if name not in self._prepared:
                self._prepared[name] = connection.prepare(query(name))
            return list(self._prepared[name].run(**parameters) or [])

    def close(self) -> None:
        """Forget the connection; the next use opens another."""
        connection, self._connection, self._prepared = self._connection, None, {}
        if connection is not None:
            file = getattr(connection, "_sock", None)
            # A dead socket makes close() raise as well; it is gone either way.
            with contextlib.suppress(pg8000.exceptions.Error, OSError):
                connection.close()
            # pg8000 leaves its file over the socket, and with it the descriptor, to the garbage collector.
            with contextlib.suppress(OSError, ValueError):
                file and file.close()

    def _begin(self, statement: str) -> None:
        stale = self._connection is not None
        try:
            self.execute(statement)
        except TransientStoreError:
            # An environment that was frozen may find its connection dead. Nothing has happened yet: try a new one.
            if not stale:
                raise
            self.execute(statement)

    def _rollback(self) -> None:
        if self._connection is None:
            return
        try:
            self.execute("rollback")
        except StoreError:
            self.close()

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = _connect(self._address, self._patience_s)
            self.connects += 1
        return self._connection

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except pg8000.exceptions.DatabaseError as exc:
            raise _translate(exc) from exc
        except (pg8000.exceptions.InterfaceError, OSError) as exc:
            self.close()
            raise TransientStoreError(f"the connection failed: {type(exc).__name__}") from exc
        except BaseException:
            # Anything raised while binding leaves the protocol one answer behind: never use that connection again.
            self.close()
            raise


class Transaction:
    """The statements of one open transaction."""

    def __init__(self, database: Database) -> None:
        self.run = database.run
        self.execute = database.execute


def _translate(exc: pg8000.exceptions.DatabaseError) -> StoreError:
    detail = exc.args[0] if exc.args and isinstance(exc.args[0], dict) else {}
    state = str(detail.get("C", "")) or "unknown"
    # The server's message may quote a value, which may be an address: only its code may reach a log.
    if state[:2] in DATA_CLASSES:
        return DataRejected(f"refused by Postgres with SQLSTATE {state}")
    # Whatever else the server says is about the server, the schema or other transactions, never about one event.
    return TransientStoreError(f"Postgres answered SQLSTATE {state}")


def _connect(address: Address, patience_s: int) -> Any:
    password = make_token(address.host, address.port, address.user) if address.iam else address.password
    sock = socket.create_connection((address.host, address.port), timeout=patience_s)
    try:
        # pg8000 writes a large Bind and a small Execute apart; Nagle's algorithm would hold the second for 40 ms.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return pg8000.native.Connection(
            address.user,
            host=address.host,
            database=address.database,
            password=password,
            # None would mean TLS without any verification, and plain text where the server offers none.
            ssl_context=_tls() if address.verified_tls else False,
            sock=sock,
            application_name="mailfold",
        )
    except BaseException:
        sock.close()
        raise


@cache
def _tls() -> ssl.SSLContext:
    bundle = files("mailfold.store").joinpath("certificates", "rds-ca-bundle.pem").read_text("ascii")
    return ssl.create_default_context(cadata=bundle)
