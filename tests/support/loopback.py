"""The query function behind HTTP on loopback, below a prefix as the emulator has it."""

import base64
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from tests.support.handlers import Context
from tests.support.reader import question_event

PREFIX = "/_aws/execute-api/mailfold"


class Gateway(BaseHTTPRequestHandler):
    """Turns each request into what API Gateway would hand over."""

    protocol_version = "HTTP/1.1"

    def _ask(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path, _, query = self.path.partition("?")
        assert isinstance(self.server, Loopback)
        if not path.startswith(PREFIX):
            self._answer({"statusCode": 404, "headers": {}, "body": "", "isBase64Encoded": False})
            return
        event = question_event(self.command, path.removeprefix(PREFIX), query, dict(self.headers.items()), body)
        self._answer(self.server.ask(event))

    do_GET = do_POST = do_PUT = do_DELETE = _ask

    def _answer(self, answer: dict[str, Any]) -> None:
        content = base64.b64decode(answer["body"]) if answer["isBase64Encoded"] else answer["body"].encode()
        self.send_response(answer["statusCode"])
        for name, value in answer["headers"].items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Stay silent."""


class Loopback(ThreadingHTTPServer):
    """Serves until it is closed; a function answers one request at a time, as in Lambda."""

    daemon_threads = True

    def __init__(self, module: Any) -> None:
        super().__init__(("127.0.0.1", 0), Gateway)
        self._module = module
        self._turn = Lock()
        self.origin = f"http://127.0.0.1:{self.server_port}"
        self.url = f"{self.origin}{PREFIX}"
        Thread(target=self.serve_forever, daemon=True).start()

    def ask(self, event: dict[str, Any]) -> dict[str, Any]:
        """Call the handler."""
        with self._turn:
            answer: dict[str, Any] = self._module.handler(event, Context())
            return answer

    def close(self) -> None:
        """Stop, and wait until nobody asks any more."""
        self.shutdown()
        self.server_close()
