"""EventBridge in a process of its own: what it takes it writes down in order, before it answers or hangs up."""

import json
import multiprocessing
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from threading import Lock

#: Long enough that a kill often finds a call under way.
ANSWER_S = 0.002
#: Shares of the calls, while there are faults: an entry is refused; all is taken, but the answer is lost.
REFUSED, LOST = 0.15, 0.03


def serve(pipe: Connection, log: Path, faulty: "multiprocessing.sharedctypes.Synchronized[int]", seed: int) -> None:
    """Take events until this process is ended; tell the port first."""
    rng, lock = Random(seed), Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body are written apart; Nagle's algorithm would hold the second for 40 ms.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                entries = json.loads(body)["Entries"]
            except ValueError:
                return  # the sender was killed in the middle of its words
            with lock:
                chance = rng.random() if faulty.value else 1.0
                refused = {rng.randrange(len(entries))} if chance < REFUSED else set()
                with log.open("a") as file:
                    file.writelines(f"{one['Detail']}\n" for n, one in enumerate(entries) if n not in refused)
            time.sleep(ANSWER_S)
            if REFUSED <= chance < REFUSED + LOST:
                self.close_connection = True
                return
            answers = [
                {"ErrorCode": "InternalFailure"} if n in refused else {"EventId": "e"} for n in range(len(entries))
            ]
            self._answer(json.dumps({"FailedEntryCount": len(refused), "Entries": answers}).encode())

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                self.close_connection = True  # whoever asked is gone

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pipe.send(server.server_port)
    server.serve_forever()
