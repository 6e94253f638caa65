"""From events in the database to a ring at the topic, on the deployed template."""

import json
from collections.abc import Iterator
from typing import Any

import pg8000.native
import pytest

from cli.local_aws import client
from cli.local_stack import Stack
from tests.e2e.support import LocalRun, await_that
from tests.support.blobs import Printed, metrics, of

RATE = of("watch", "HardBouncePercentHour", "sendgrid")


@pytest.fixture
def bounced(database: pg8000.native.Connection) -> Iterator[None]:
    """An hour in which a source's mail bounced."""
    database.run(
        "insert into email_events"
        " (event_id, fingerprint, source, provider, kind, type, bounce_class, scope, occurred_at, received_at, machine,"
        " payload) select 'watch:' || n, '', 'sendgrid', 'sendgrid', 'bounce', 'bounced', 'hard', '', now(), now(),"
        " false, '{}' from generate_series(1, 5000) n"
    )
    yield
    database.run("delete from email_events where event_id like 'watch:%'")


def watched(stack: Stack, running: LocalRun, metric: Printed) -> float:
    """Run watch and return what it printed of a metric that is not 0."""
    log = running.state / "logs/watch.log"

    def printed() -> float:
        return metrics(log.read_text()).get(metric, 0.0) if log.exists() else 0.0

    answer = client("lambda", stack.aws_endpoint).invoke(FunctionName=stack.functions["watch"], Payload=b"{}")

    assert "FunctionError" not in answer
    assert json.loads(answer["Payload"].read()).keys() == {"sources", "high", "quiet", "dead_letters"}
    await_that(printed)
    return printed()


def alarms(stack: Stack) -> list[dict[str, Any]]:
    pages = client("cloudwatch", stack.aws_endpoint).get_paginator("describe_alarms").paginate()
    return [alarm for page in pages for alarm in page["MetricAlarms"]]


def test_a_rate_that_watch_prints_rings_at_the_topic(stack: Stack, running: LocalRun, bounced: None) -> None:
    sqs, sns = client("sqs", stack.aws_endpoint), client("sns", stack.aws_endpoint)
    ear = sqs.create_queue(QueueName="ear")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=ear, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    (topic,) = {action for alarm in alarms(stack) for action in alarm["AlarmActions"]}
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)

    percent = watched(stack, running, RATE)
    # CloudWatch reads metrics from the logs by itself; the emulator does not.
    dimensions = [{"Name": name, "Value": value} for name, value in RATE.dimensions]
    client("cloudwatch", stack.aws_endpoint).put_metric_data(
        Namespace="Mailfold",
        MetricData=[{"MetricName": RATE.name, "Dimensions": dimensions, "Value": percent}],
    )

    heard: list[str] = []

    def hear() -> bool:
        heard.extend(it["Body"] for it in sqs.receive_message(QueueUrl=ear).get("Messages", []))
        return bool(heard)

    await_that(hear)
    rung = json.loads(json.loads(heard[0])["Message"])
    assert percent > 5
    assert (rung["NewStateValue"], rung["Trigger"]["MetricName"]) == ("ALARM", RATE.name)
    assert rung["AlarmDescription"].endswith("docs/operations.md#hard-bounces-are-high")


def test_the_dashboard_is_there(stack: Stack) -> None:
    cloudwatch = client("cloudwatch", stack.aws_endpoint)
    (entry,) = cloudwatch.list_dashboards()["DashboardEntries"]

    body = cloudwatch.get_dashboard(DashboardName=entry["DashboardName"])["DashboardBody"]

    assert json.loads(body)["widgets"]
