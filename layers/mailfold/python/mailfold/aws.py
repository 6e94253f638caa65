"""The two AWS calls of receive: signed by botocore, over a connection that stays open, without a client of boto3.

To make such a client takes longer than all the rest of a cold start (docs/decisions/0060).
"""

import json
import random
import ssl
import time
from collections.abc import Mapping
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Literal, overload
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from mailfold.access import Access

#: For each wait on the network: all attempts of both calls together fit into the 10 s that receive has.
TIMEOUT_S = 1.5
ATTEMPTS = 3
#: The longest pause before the second attempt; the third may wait twice as long.
PAUSE_S = 0.1


class CallFailed(Exception):
    """AWS answered, and not with what was asked for."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status} {code}".rstrip())
        #: Whether the same call may succeed in a moment.
        self.passing = status >= 500 or status == 429 or "Throttl" in code


class _Service:
    """One service that speaks AWS's JSON protocol."""

    name: str
    content_type: str
    target: str

    def __init__(self, access: Access) -> None:
        self._access = access
        self._url = access.url(self.name)
        self._connection = _connection(self._url)

    def _call(self, operation: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        body = json.dumps(arguments).encode()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._post(operation, body)
            except CallFailed as failure:
                if not failure.passing or attempt == ATTEMPTS:
                    raise
                time.sleep(random.uniform(0, PAUSE_S * attempt))  # noqa: S311  # spreads load, hides nothing
            except (OSError, HTTPException):
                # A function that was frozen finds its connection closed: the next attempt opens another, at once.
                self._connection.close()
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    def _post(self, operation: str, body: bytes) -> Mapping[str, Any]:
        headers = {"Content-Type": self.content_type, "X-Amz-Target": f"{self.target}.{operation}"}
        request = AWSRequest(method="POST", url=f"{self._url}/", data=body, headers=headers)
        SigV4Auth(self._access.credentials(), self.name, self._access.region).add_auth(request)
        self._connection.request("POST", "/", body, dict(request.headers))
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise CallFailed(response.status, _code(answer))
        parsed: Mapping[str, Any] = json.loads(answer)
        return parsed


class Sqs(_Service):
    """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html"""

    name = "sqs"
    content_type = "application/x-amz-json-1.0"
    target = "AmazonSQS"

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> Mapping[str, Any]:  # noqa: N803
        """Send up to ten records."""
        return self._call("SendMessageBatch", {"QueueUrl": QueueUrl, "Entries": Entries})


class SecretsManager(_Service):
    """https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html"""

    name = "secretsmanager"
    content_type = "application/x-amz-json-1.1"
    target = "secretsmanager"

    def get_secret_value(self, *, SecretId: str) -> Mapping[str, Any]:  # noqa: N803
        """Read one secret."""
        return self._call("GetSecretValue", {"SecretId": SecretId})


@overload
def client(service: Literal["sqs"], access: Access) -> Sqs: ...
@overload
def client(service: Literal["secretsmanager"], access: Access) -> SecretsManager: ...
def client(service: Literal["sqs", "secretsmanager"], access: Access) -> Sqs | SecretsManager:
    """Return the client of a service; its calls have the names that boto3 gives them."""
    return Sqs(access) if service == "sqs" else SecretsManager(access)


def _connection(url: str) -> HTTPConnection:
    parts = urlsplit(url)
    if parts.scheme == "http":
        return HTTPConnection(parts.netloc, timeout=TIMEOUT_S)
    return HTTPSConnection(parts.netloc, timeout=TIMEOUT_S, context=_tls())


@cache
def _tls() -> ssl.SSLContext:
    """Read the certificates of the authorities once: it takes longer than a call."""
    return ssl.create_default_context()


def _code(answer: bytes) -> str:
    """Return the name of an error and none of its words, which may quote the request."""
    try:
        error = json.loads(answer)
    except ValueError:
        return ""
    return str(error.get("__type", "")).rpartition("#")[2] if isinstance(error, dict) else ""
