"""The demo's senders: one of webhooks over HTTP, one of SES events to the topic."""

import http.client
import json
import threading
import time
import urllib.parse
from datetime import UTC, datetime
from typing import Any, Protocol

from cli.local_aws import client
from local.errors import LocalError
from local.traffic import Request, dressed
from samples import Keys, Sampler

#: How long a provider tries before the demo gives up on a request.
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 0.5


class Sender(Protocol):
    """Sends requests the way one source's provider does."""

    def send(self, request: Request) -> int:
        """Send until the request is answered for good, and return the last status."""

    def close(self) -> None:
        """Close all connections."""


class WebhookSender:
    """A provider that calls a URL, and calls it again while the answer is "not now"."""

    def __init__(self, url: str, sampler: Sampler, keys: Keys) -> None:
        self._url = urllib.parse.urlsplit(url)
        self._sampler = sampler
        self._keys = keys
        self._mine = threading.local()
        self._all: list[http.client.HTTPConnection] = []

    def send(self, request: Request) -> int:
        """Post the request; an honest one again until it is taken, as every provider does."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            body, headers = dressed(request, self._sampler, self._keys, datetime.now(UTC))
            status = self._post(body, headers)
            if request.forgery or 200 <= status < 300:
                return status
            if time.monotonic() > deadline:
                raise LocalError(f"{self._url.geturl()} still answers {status} after {PATIENCE_SECONDS:.0f} s.")
            time.sleep(PAUSE_SECONDS)

    def _post(self, body: bytes, headers: Any) -> int:
        """Return the status, 0 when there was no answer."""
        connection = self._connection()
        try:
            connection.request("POST", self._url.path, body, headers)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            return 0
        return response.status

    def close(self) -> None:
        """Close the connection of every thread that has sent."""
        for connection in self._all:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if not hasattr(self._mine, "connection"):
            self._mine.connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=60)
            self._all.append(self._mine.connection)
        connection: http.client.HTTPConnection = self._mine.connection
        return connection


class TopicSender:
    """SES, which publishes each event once, and SNS, which may deliver a notification to the queue more than once."""

    def __init__(self, topic_arn: str, queue_url: str, endpoint: str) -> None:
        self._topic_arn = topic_arn
        self._queue_url = queue_url
        self._sns = client("sns", endpoint)
        self._sqs = client("sqs", endpoint)
        self._published: dict[str, str] = {}
        self._lock = threading.Lock()

    def send(self, request: Request) -> int:
        """Publish the one event of the request; further copies of it are the same notification, delivered again."""
        (event,) = request.events
        message = json.dumps(event)
        with self._lock:
            answer = self._redeliver(message) if message in self._published else self._publish(message)
        status: int = answer["ResponseMetadata"]["HTTPStatusCode"]
        return status

    def close(self) -> None:
        """Close both clients."""
        self._sns.close()
        self._sqs.close()

    def _publish(self, message: str) -> Any:
        answer = self._sns.publish(TopicArn=self._topic_arn, Message=message)
        self._published[message] = answer["MessageId"]
        return answer

    def _redeliver(self, message: str) -> Any:
        # The emulator's SNS never repeats itself, as the real one may; a second publish would be another event.
        notification = {
            "Type": "Notification",
            "MessageId": self._published[message],
            "TopicArn": self._topic_arn,
            "Message": message,
            "Timestamp": datetime.now(UTC).isoformat(),
        }
        return self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=json.dumps(notification))
