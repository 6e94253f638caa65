"""The calls to AWS on the wire: what botocore would send, on one connection, and again where that may help."""

import json
import ssl
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse

from local.testing.handlers import COMMON
from mailfold import aws
from mailfold.access import Access, Credentials
from mailfold.aws import ATTEMPTS, CallFailed
from tests.support.signed import proves
from tests.support.silent import Silent

REGION = "eu-west-1"
KEYS = Credentials(access_key=COMMON["AWS_ACCESS_KEY_ID"], secret_key=COMMON["AWS_SECRET_ACCESS_KEY"], token="session")
ENTRIES = [{"Id": "0", "MessageBody": "é"}]
SENT = {"Successful": [{"Id": "0"}], "Failed": []}
#: How the parsed error of either protocol version names itself.
DENIED = {"__type": "com.amazonaws.sqs#AccessDenied", "message": "arn:aws:sqs:eu-west-1:1:q"}
Reply = tuple[int, Any] | None


class Site(BaseHTTPRequestHandler):
    """Gives the next reply of its server's list; None hangs up without a word."""

    protocol_version = "HTTP/1.1"
    server: "SiteServer"

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.append(({name.lower(): text for name, text in self.headers.items()}, body))
        reply = self.server.replies.popleft() if self.server.replies else (200, SENT)
        self.close_connection = reply is None
        if reply is not None:
            answer = reply[1] if isinstance(reply[1], bytes) else json.dumps(reply[1]).encode()
            self.send_response(reply[0])
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        """Stay silent."""


class SiteServer(ThreadingHTTPServer):
    """Remembers what was asked, and on how many connections."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Site)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.replies: deque[Reply] = deque()
        self.asked: list[tuple[dict[str, str], bytes]] = []
        self.connections = 0


@pytest.fixture
def site() -> Iterator[SiteServer]:
    with SiteServer() as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def access(url: str) -> Access:
    return Access(region=REGION, credentials=lambda: KEYS, endpoints={"sqs": url, "secretsmanager": url})


@pytest.fixture
def sqs(site: SiteServer) -> Iterator[aws.Sqs]:
    client = aws.client("sqs", access(site.url))
    yield client
    client._connection.close()


def send(sqs: aws.Sqs) -> Any:
    return sqs.send_message_batch(QueueUrl="https://queue", Entries=ENTRIES)


def sent_by_boto3(service: str, call: str, **arguments: Any) -> tuple[dict[str, str], bytes]:
    """Let boto3 make the same call up to the moment in which it would be sent."""
    client = boto3.client(
        service,
        region_name=REGION,
        aws_access_key_id=KEYS.access_key,
        aws_secret_access_key=KEYS.secret_key,
        aws_session_token=KEYS.token,
    )
    caught: list[Any] = []

    def catch(request: Any, **_: Any) -> AWSResponse:
        caught.append(request)
        return AWSResponse(request.url, 200, {}, type("Raw", (), {"stream": lambda *_: iter([b"{}"])})())

    client.meta.events.register_first("before-send", catch)
    getattr(client, call)(**arguments)
    headers = {name.lower(): value for name, value in caught[0].headers.items()}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in headers.items()}, caught[
        0
    ].body


def test_a_batch_travels_as_boto3_would_send_it(site: SiteServer, sqs: aws.Sqs) -> None:
    answer = send(sqs)

    [(headers, body)] = site.asked
    theirs, their_body = sent_by_boto3("sqs", "send_message_batch", QueueUrl="https://queue", Entries=ENTRIES)
    assert answer == SENT
    assert json.loads(body) == json.loads(their_body)
    for name in ("content-type", "x-amz-target", "x-amz-security-token"):
        assert headers[name] == theirs[name]
    assert proves("POST", headers["host"], headers, body)


def test_a_secret_is_read_as_boto3_would_read_it(site: SiteServer) -> None:
    site.replies.append((200, {"SecretString": "{}"}))
    client = aws.client("secretsmanager", access(site.url))

    answer = client.get_secret_value(SecretId="mailfold/sources")

    client._connection.close()
    [(headers, body)] = site.asked
    theirs, their_body = sent_by_boto3("secretsmanager", "get_secret_value", SecretId="mailfold/sources")
    assert answer["SecretString"] == "{}"
    assert json.loads(body) == json.loads(their_body)
    for name in ("content-type", "x-amz-target", "x-amz-security-token"):
        assert headers[name] == theirs[name]
    assert proves("POST", headers["host"], headers, body)


def test_all_calls_share_one_connection(site: SiteServer, sqs: aws.Sqs) -> None:
    for _ in range(5):
        send(sqs)

    assert (len(site.asked), site.connections) == (5, 1)


def test_a_connection_that_was_closed_meanwhile_is_opened_again(site: SiteServer, sqs: aws.Sqs) -> None:
    send(sqs)
    site.replies.append(None)

    assert send(sqs) == SENT
    assert site.connections == 2


@pytest.mark.parametrize(
    "passing",
    [(500, {}), (503, b"<html>"), (429, {}), (400, {"__type": "com.amazonaws.sqs#RequestThrottled"}), None],
    ids=str,
)
def test_what_may_pass_is_tried_again_and_not_for_ever(site: SiteServer, sqs: aws.Sqs, passing: Reply) -> None:
    site.replies.extend([passing] * (ATTEMPTS - 1))
    assert send(sqs) == SENT

    site.replies.extend([passing] * ATTEMPTS)
    with pytest.raises((CallFailed, OSError)):
        send(sqs)

    assert len(site.asked) == 2 * ATTEMPTS


@pytest.mark.parametrize("refusal", [(400, DENIED), (403, b"not json"), (404, [])], ids=str)
def test_what_cannot_pass_is_tried_once_and_named_by_its_code_alone(
    site: SiteServer, sqs: aws.Sqs, refusal: Reply
) -> None:
    site.replies.append(refusal)

    with pytest.raises(CallFailed) as failure:
        send(sqs)

    assert str(failure.value) in {"400 AccessDenied", "403", "404"}
    assert len(site.asked) == 1


def test_silence_costs_less_than_receive_has(monkeypatch: pytest.MonkeyPatch) -> None:
    longest_s = aws.TIMEOUT_S
    monkeypatch.setattr(aws, "TIMEOUT_S", 0.05)

    with Silent() as silent:
        with pytest.raises(TimeoutError):
            send(aws.client("sqs", access(silent.url)))
        assert silent.calls() == ATTEMPTS

    # receive has 10 s for two such calls.
    assert 2 * ATTEMPTS * longest_s < 10


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-west-1", "sqs.eu-west-1.amazonaws.com"),
        ("us-gov-west-1", "sqs.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "sqs.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_aws_itself_is_reached_over_verified_tls_where_botocore_finds_it(region: str, host: str) -> None:
    client = aws.client("sqs", Access(region=region, credentials=lambda: KEYS, endpoints={}))

    tls: ssl.SSLContext = client._connection._context  # type: ignore[attr-defined]
    assert client._connection.host == host
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)
    theirs = boto3.client("sqs", region_name=region, aws_access_key_id="a", aws_secret_access_key="b")
    assert theirs.meta.endpoint_url == f"https://{host}"
