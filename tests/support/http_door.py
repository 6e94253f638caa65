"""A function behind HTTP on the loopback: what API Gateway's HTTP API does with a request, and nothing more."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from local.testing.events import question_event
from local.testing.handlers import Context
from tests.support.reader import reply_of

_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def decoded(path: str) -> str:
    """Decode a path as an HTTP API does: every escape but that of the percent sign."""

    def decode(match: re.Match[str]) -> str:
        return "".join(it if it == "%25" else _text(it) for it in re.split("(%25)", match[0]))

    return _ESCAPES.sub(decode, path)


def _text(escapes: str) -> str:
    return bytes.fromhex(escapes.replace("%", "")).decode("utf-8", "replace")


@contextmanager
def served(handler: Callable[[Any, Any], dict[str, Any]], *, prefix: str = "") -> Iterator[str]:
    """Serve a handler, one request at a time as an environment of Lambda does; return the address.

    Below a prefix it is as the emulator has it.
    """
    lock = Lock()

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one piece: apart, the second would wait 40 ms for the first to be acknowledged.
        wbufsize = -1
        disable_nagle_algorithm = True

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            path, _, query = self.path.partition("?")
            event = question_event(
                self.command, decoded(path.removeprefix(prefix)), query, dict(self.headers.items()), body
            )
            with lock:
                reply = reply_of(handler(event, Context()))
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply.content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.content)
            self.wfile.flush()

        def __getattr__(self, name: str) -> Any:
            # Whatever the method is, the function answers it.
            if name.startswith("do_"):
                return self.handle_any
            raise AttributeError(name)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
