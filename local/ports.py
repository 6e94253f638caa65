"""Ports on the loopback interface."""

import errno
import random
import socket

from local.errors import LocalError

LOOPBACK = "127.0.0.1"
#: Below the ports that Linux gives to outgoing connections (net.ipv4.ip_local_port_range), any of which could take the
#: port between the moment it is found and the moment a server listens on it.
CHOICE = range(10_000, 32_768)


def free_port() -> int:
    """Return a port that nothing listens on at this moment."""
    while True:
        port = random.choice(CHOICE)  # noqa: S311 - two programs that ask at the same time must not get the same one
        with socket.socket() as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
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
