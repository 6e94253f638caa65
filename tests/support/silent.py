"""A server that takes connections and never answers."""

import socket
from typing import Self


class Silent:
    """Counts the calls that were made to it."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setblocking(False)
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def calls(self) -> int:
        """Take every connection that waits, and return how many there were."""
        number = 0
        while True:
            try:
                connection, _ = self._server.accept()
            except BlockingIOError:
                return number
            connection.close()
            number += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
