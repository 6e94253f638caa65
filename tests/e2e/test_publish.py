"""From a signed request to a queue behind a rule on the bus, through the deployed template."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cli.local_aws import client
from cli.local_stack import Stack
from local.errors import LocalError
from local.options import read_options
from local.traffic import Request
from tests.e2e.support import await_that
from tests.e2e.test_pipeline import send
from tests.support.records import raw
from tests.support.schema import faults

EVENTS = Path(__file__).parents[2] / "docs" / "events"


@dataclass
class Subscriber:
    """A queue behind a rule, as a service that wants to know would have it."""

    stack: Stack
    pattern: dict[str, Any]
    received: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._sqs, self._events = client("sqs", self.stack.aws_endpoint), client("events", self.stack.aws_endpoint)
        (self.bus,) = {bus["Name"] for bus in self._events.list_event_buses()["EventBuses"]} - {"default"}
        name = f"subscriber-{uuid.uuid4().hex}"
        self._url = self._sqs.create_queue(QueueName=name)["QueueUrl"]
        attributes = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])["Attributes"]
        self._rule = {"Name": name, "EventBusName": self.bus}
        self._events.put_rule(**self._rule, EventPattern=json.dumps(self.pattern))
        target = [{"Id": "queue", "Arn": attributes["QueueArn"]}]
        self._events.put_targets(Rule=name, EventBusName=self.bus, Targets=target)

    def look(self) -> None:
        """Take what is on the queue."""
        answer = self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10)
        self.received += [json.loads(record["Body"]) for record in answer.get("Messages", [])]
        for record in answer.get("Messages", []):
            self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=record["ReceiptHandle"])

    def close(self) -> None:
        """Leave nothing behind on the bus."""
        self._events.remove_targets(Rule=self._rule["Name"], EventBusName=self.bus, Ids=["queue"])
        self._events.delete_rule(**self._rule)
        self._sqs.delete_queue(QueueUrl=self._url)


@pytest.fixture
def subscriber(stack: Stack) -> Iterator[Subscriber]:
    pattern = {"source": ["mailfold"], "detail": {"version": [1], "key": [{"prefix": "e2e-"}]}}
    subscriber = Subscriber(stack, pattern)
    yield subscriber
    subscriber.close()


def publish(stack: Stack) -> dict[str, int]:
    answer = client("lambda", stack.aws_endpoint).invoke(FunctionName=stack.functions["publish"], Payload=b"{}")
    payload = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, payload
    return dict(payload)


def test_a_signed_bounce_reaches_whoever_subscribes_to_the_bus(stack: Stack, subscriber: Subscriber) -> None:
    mark = f"e2e-{uuid.uuid4().hex}"
    address = f"{mark}@example.com"
    bounce = raw(mark, "bounce", message_id=mark, recipient=address, bounce_type="Permanent")

    assert send(stack, Request(source="sesmetric", events=(bounce,))) == 200

    def both_are_there() -> bool:
        # The deployed schedule calls it every minute as well; whoever comes first publishes.
        publish(stack)
        subscriber.look()
        return len(subscriber.received) >= 2

    await_that(both_are_there)
    by_type = {event["detail-type"]: event for event in subscriber.received}
    assert {name: event["detail"]["key"] for name, event in by_type.items()} == {
        "status changed": mark,
        "address suppressed": address,
    }
    for name, event in by_type.items():
        schema = json.loads((EVENTS / f"{name.replace(' ', '-')}.schema.json").read_text())
        assert faults(event["detail"], schema) == []
    assert by_type["address suppressed"]["detail"]["body"]["because"]["bounce_class"] == "hard"


@pytest.mark.parametrize(("text", "wanted"), [(None, None), ("", None), ("1", True), ("0", False)])
def test_the_switch_of_the_local_stack(text: str | None, wanted: bool | None) -> None:
    assert read_options({} if text is None else {"MAILFOLD_PUBLISH": text}).publish is wanted


def test_a_switch_that_is_neither_on_nor_off_is_refused() -> None:
    with pytest.raises(LocalError, match="MAILFOLD_PUBLISH must be 1 or 0"):
        read_options({"MAILFOLD_PUBLISH": "yes"})
