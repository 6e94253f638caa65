"""AWS calls this for each request on /webhooks/{source}."""

import json
from typing import Any

from mailfold import aws
from mailfold.fetch import Fetcher
from mailfold.keyed import Keyed
from mailfold.providers import forms_of
from mailfold.queue import Queue
from mailfold.request import Request
from mailfold.secrets import Secrets
from mailfold.settings import ReceiveSettings
from mailfold.steps.receive import ReceiveContext, receive
from mailfold.telemetry import Telemetry

settings = ReceiveSettings.from_environment()
telemetry = Telemetry("receive")
receive_context = ReceiveContext(
    sources=settings.sources,
    secrets=Secrets(aws.client("secretsmanager", settings.aws), settings.secret_id, forms=forms_of(settings.sources)),
    queue=Queue(client=aws.client("sqs", settings.aws), url=settings.queue_url),
    keyed=Keyed(settings.claim_table),
    fetcher=Fetcher(),
    max_body_bytes=settings.max_body_bytes,
    telemetry=telemetry,
)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one request in API Gateway's payload format 2.0."""
    response = receive(Request.from_api_gateway(event), receive_context)
    telemetry.flush()
    return {
        "statusCode": response.status,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(response.body),
    }
