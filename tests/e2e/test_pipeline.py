"""One event at a time through the deployed template: every way in, every way out."""

import http.client
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pg8000.native
import pytest

from cli.local_aws import client
from cli.local_stack import Stack
from local.traffic import Request, dressed, forgeries
from mailfold.providers import REGISTRY
from samples import Keys, sampler
from tests.e2e.support import await_that

HTTP_SOURCES = sorted(REGISTRY.keys() - {"ses"})


def new_marker() -> str:
    return f"e2e-{uuid.uuid4().hex}"


def post(stack: Stack, source: str, body: bytes, headers: Any) -> tuple[int, bytes]:
    url = urlsplit(f"{stack.base_url}/webhooks/{source}")
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=30)
    try:
        connection.request("POST", url.path, body, dict(headers))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def made(stack: Stack, source: str, marker: str, forgery: str | None = None) -> Request:
    sender = sampler(stack.sources[source].provider)
    return Request(source=source, events=(sender.generate(Random(1), marker, datetime.now(UTC)),), forgery=forgery)


def send(stack: Stack, request: Request) -> int:
    source = stack.sources[request.source]
    assert source.secret
    assert source.signer
    keys = Keys(secret=source.secret, signer=source.signer)
    body, headers = dressed(request, sampler(source.provider), keys, datetime.now(UTC))
    return post(stack, request.source, body, headers)[0]


@pytest.fixture
def rows(database: pg8000.native.Connection) -> Callable[[str], list[Any]]:
    """Rows whose raw event names a marker."""

    def find(marker: str) -> list[Any]:
        found: list[Any] = database.run(
            "select source, provider, type from email_events where position(:marker in payload::text) > 0",
            marker=marker,
        )
        return found

    return find


def waiting(stack: Stack, url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    answer = client("sqs", stack.aws_endpoint).get_queue_attributes(QueueUrl=url, AttributeNames=names)
    return sum(int(answer["Attributes"][name]) for name in names)


@pytest.mark.parametrize("source", HTTP_SOURCES)
def test_a_signed_request_becomes_a_row(stack: Stack, rows: Callable[[str], list[Any]], source: str) -> None:
    marker = new_marker()

    assert send(stack, made(stack, source, marker)) == 200

    await_that(lambda: rows(marker))
    assert [row[:2] for row in rows(marker)] == [[source, source]]


@pytest.mark.parametrize("source", HTTP_SOURCES)
def test_the_same_request_twice_is_one_row(stack: Stack, rows: Callable[[str], list[Any]], source: str) -> None:
    marker = new_marker()
    request = made(stack, source, marker)

    assert [send(stack, request), send(stack, request)] == [200, 200]

    await_that(lambda: rows(marker) and waiting(stack, stack.queue_url) == 0)
    assert len(rows(marker)) == 1


@pytest.mark.parametrize(("source", "forgery"), [(each, bad) for each in HTTP_SOURCES for bad in forgeries(each)])
def test_a_forged_request_is_refused_and_leaves_nothing(
    stack: Stack, rows: Callable[[str], list[Any]], source: str, forgery: str
) -> None:
    marker = new_marker()

    assert send(stack, made(stack, source, marker, forgery)) == 401

    assert waiting(stack, stack.queue_url) == 0
    assert rows(marker) == []


def test_an_unknown_source_is_not_found(stack: Stack) -> None:
    assert post(stack, "nobody", b"[]", {"Content-Type": "application/json"})[0] == 404


def test_an_ses_event_comes_through_the_topic(stack: Stack, rows: Callable[[str], list[Any]]) -> None:
    marker = new_marker()
    event = sampler("ses").generate(Random(1), marker, datetime.now(UTC))

    client("sns", stack.aws_endpoint).publish(TopicArn=stack.topic_arn, Message=json.dumps(event))

    await_that(lambda: rows(marker))
    assert [row[:2] for row in rows(marker)] == [["ses", "ses"]]


def test_poison_ends_in_dead_letters_and_holds_nothing_up(
    stack: Stack, database: pg8000.native.Connection, rows: Callable[[str], list[Any]]
) -> None:
    marker, poison = new_marker(), f"no envelope {uuid.uuid4().hex}"
    sqs = client("sqs", stack.aws_endpoint)

    sqs.send_message(QueueUrl=stack.queue_url, MessageBody=poison)
    assert send(stack, made(stack, "sendgrid", marker)) == 200

    await_that(lambda: rows(marker) and waiting(stack, stack.queue_url) == 0)
    assert database.run("select raw from dead_letters where raw = :poison", poison=poison) == [[poison]]
    assert waiting(stack, stack.dlq_url) == 0


def insert_old_event(database: pg8000.native.Connection) -> str:
    event_id = f"e2e:{uuid.uuid4().hex}"
    database.run(
        "insert into email_events"
        " (event_id, fingerprint, source, provider, kind, type, scope, occurred_at, received_at, machine, payload)"
        " values (:id, '', 'sendgrid', 'sendgrid', 'open', 'opened', '', :at, :at, false, '{}')",
        id=event_id,
        at=datetime.now(UTC) - timedelta(days=60),
    )
    return event_id


def stored(database: pg8000.native.Connection, event_id: str) -> bool:
    return bool(database.run("select from email_events where event_id = :id", id=event_id))


def test_prune_deletes_what_is_past_its_window(
    stack: Stack, database: pg8000.native.Connection, rows: Callable[[str], list[Any]]
) -> None:
    old, marker = insert_old_event(database), new_marker()
    assert send(stack, made(stack, "sendgrid", marker)) == 200
    await_that(lambda: rows(marker))

    answer = client("lambda", stack.aws_endpoint).invoke(FunctionName=stack.functions["prune"])

    assert "FunctionError" not in answer, answer["Payload"].read()
    assert not stored(database, old)
    assert rows(marker)


def test_the_scheduler_calls_prune(stack: Stack, database: pg8000.native.Connection) -> None:
    """The deployed schedule, moved from the night to this moment."""
    scheduler = client("scheduler", stack.aws_endpoint)
    listed = [scheduler.get_schedule(Name=each["Name"]) for each in scheduler.list_schedules()["Schedules"]]
    (deployed,) = (each for each in listed if stack.functions["prune"] in each["Target"]["Arn"])
    old = insert_old_event(database)

    scheduler.create_schedule(
        Name=f"now-{uuid.uuid4().hex}",
        ScheduleExpression=f"at({datetime.now(UTC):%Y-%m-%dT%H:%M:%S})",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target=deployed["Target"],
    )

    await_that(lambda: not stored(database, old))


def test_sweep_runs_with_its_own_rights(stack: Stack) -> None:
    answer = client("lambda", stack.aws_endpoint).invoke(FunctionName=stack.functions["sweep"], Payload=b"{}")

    assert "FunctionError" not in answer
    assert json.loads(answer["Payload"].read()).keys() == {"suppressed", "lifted"}
