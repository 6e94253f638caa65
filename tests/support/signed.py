"""AWS on loopback as receive meets it: every call must be signed as botocore signs, then moto answers it."""

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from botocore import xform_name
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from local.testing.handlers import COMMON

#: The service behind the first word of X-Amz-Target.
SERVICES = {"AmazonSQS": "sqs", "secretsmanager": "secretsmanager"}


def proves(method: str, host: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Compute the signature of what has arrived and compare it with the one that came along."""
    credential, names, _ = (part.partition("=")[2] for part in headers["authorization"].split(", "))
    _, _, region, service, _ = credential.split("/")
    signed = {name: headers[name] for name in names.split(";") if name != "host"}
    request = AWSRequest(method=method, url=f"http://{host}/", data=body, headers=signed)
    request.context["timestamp"] = headers["x-amz-date"]
    keys = Credentials(COMMON["AWS_ACCESS_KEY_ID"], COMMON["AWS_SECRET_ACCESS_KEY"])
    signer = SigV4Auth(keys, service, region)
    signature = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return headers["authorization"].endswith(f"Signature={signature}")


class SignedAws(BaseHTTPRequestHandler):
    """Speaks HTTP/1.0, so that no function under test leaves a connection open behind it."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if proves(self.command, headers["host"], headers, body):
            self._answer(*self._ask_moto(headers["x-amz-target"], json.loads(body)))
        else:
            self._answer(403, {"__type": "com.amazon.coral.service#InvalidSignatureException"})

    def _ask_moto(self, target: str, arguments: Any) -> tuple[int, Mapping[str, Any]]:
        service, _, operation = target.partition(".")
        assert isinstance(self.server, SignedServer)
        try:
            answer = getattr(self.server.client(SERVICES[service]), xform_name(operation))(**arguments)
        except ClientError as refusal:
            status = refusal.response["ResponseMetadata"]["HTTPStatusCode"]
            return status, {"__type": f"com.amazonaws#{refusal.response['Error']['Code']}"}
        return 200, {name: value for name, value in answer.items() if name != "ResponseMetadata"}

    def _answer(self, status: int, answer: Mapping[str, Any]) -> None:
        body = json.dumps(answer, default=str).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Stay silent."""


class SignedServer(ThreadingHTTPServer):
    """Runs until the tests end, with moto's clients behind it."""

    def __init__(self, client: Callable[[str], Any]) -> None:
        super().__init__(("127.0.0.1", 0), SignedAws)
        self.client = client
        self.url = f"http://127.0.0.1:{self.server_port}"
        Thread(target=self.serve_forever, daemon=True).start()
