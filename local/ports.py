"""Ports on the loopback interface."""

import errno
import socket

from local.errors import LocalError

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """Return a port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def require_free(port: int, variable: str) -> None:
    """Raise unless `port` can be listened on; `variable` is how to choose another one."""
    with socket.socket() as probe:
        # As the servers do: connections of a server that is gone linger in TIME_WAIT and must not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE:
                raise LocalError(f"Port {port} is taken: choose another one, e.g. {variable}={free_port()}.") from exc
            raise LocalError(f"Port {port} cannot be used ({exc.strerror}): choose another one in {variable}.") from exc
