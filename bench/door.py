"""receive's real handler with AWS played on loopback, and signed requests for it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bench.aws_stub import aws_stub
from bench.lab import Function
from bench.traffic import SOURCES, Traffic
from local.testing.events import gateway_event
from mailfold.envelope import hash_body
from samples import Keys, sendgrid


@dataclass(frozen=True, kw_only=True)
class SignedRequest:
    """One request as SendGrid would send it now, small enough for one envelope."""

    body: bytes
    headers: Mapping[str, str]

    @property
    def claim_key(self) -> str:
        """The key whose row is committed together with the events."""
        return f"sendgrid:{hash_body(self.body)}:0"

    @property
    def gateway_event(self) -> dict[str, Any]:
        """What API Gateway hands to the function."""
        return gateway_event("sendgrid", self.body, self.headers, encoding="plain")


def signed_requests(traffic: Traffic, keys: Keys, *, events: int, number: int) -> list[SignedRequest]:
    """Return requests with this many fresh events each."""
    bodies = [sendgrid.body(traffic.events(events)) for _ in range(number)]
    return [SignedRequest(body=body, headers=sendgrid.sign(body, keys, datetime.now(UTC))) for body in bodies]


@contextmanager
def receive_alone(keys: Keys) -> Iterator[Function]:
    """Give receive, with its real AWS clients, on a queue that takes everything at once."""
    with aws_stub(json.dumps({"sendgrid": [keys.secret]})) as endpoint:
        environment = {
            "SOURCES": SOURCES,
            "SECRET_ID": "secret",  # nosec B105 - a name
            "QUEUE_URL": f"{endpoint}/000000000000/queue",
            "CLAIM_TABLE": "claims",
            "MAX_BODY_BYTES": "4000000",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": "us-east-1",
        }
        function = Function("receive", environment)
        try:
            yield function
        finally:
            function.close()


def accepted(receive: Function, request: SignedRequest) -> None:
    """Hand a request to receive and insist on 200."""
    answer = receive(request.gateway_event)
    if answer["statusCode"] != 200:
        raise RuntimeError(f"receive answered {answer['statusCode']}: {answer['body']}")
