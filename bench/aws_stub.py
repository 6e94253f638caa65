"""SQS and Secrets Manager that answer at once: the two calls of receive in AWS's JSON protocol, on loopback."""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@contextlib.contextmanager
def aws_stub(secret: str) -> Iterator[str]:
    """Serve while the block runs, with this text as every secret; give the address."""
    answers: dict[str, Answer] = {
        "secretsmanager.GetSecretValue": lambda asked: {"Name": asked["SecretId"], "SecretString": secret},
        "AmazonSQS.SendMessageBatch": _all_sent,
    }
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(answers)) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _all_sent(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    sent = [{"Id": entry["Id"], "MessageId": entry["Id"], "MD5OfMessageBody": ""} for entry in asked["Entries"]]
    return {"Successful": sent, "Failed": []}


def _handler(answers: Mapping[str, Answer]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # The answer leaves in one write: two would wait for each other's acknowledgement.
        wbufsize = -1

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps(answers[self.headers["x-amz-target"]](asked)).encode()
            self.send_response(200)
            self.send_header("content-type", self.headers["content-type"])
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing: the report is on the same screen."""

    return Handler
