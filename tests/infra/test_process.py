"""process: in the network, fed in batches whose failures are reported one by one."""

import json
from pathlib import Path

from infra.settings import Settings
from tests.infra.template import Synthesised, synthesise
from tests.infra.test_queue import feeding_topic, main_queue


def test_the_mapping_reports_failures_and_bounds_its_own_concurrency(stack: Synthesised) -> None:
    queue, _ = main_queue(stack)
    function, properties = stack.function("process")
    _, mapping = stack.only("AWS::Lambda::EventSourceMapping")

    assert mapping["EventSourceArn"] == {"Fn::GetAtt": [queue, "Arn"]}
    assert mapping["FunctionName"] == {"Ref": function}
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 5}
    assert (mapping["BatchSize"], mapping["MaximumBatchingWindowInSeconds"]) == (500, 1)
    assert "ReservedConcurrentExecutions" not in properties
    assert properties["Timeout"] == 60


def test_the_mapping_follows_the_settings(tmp_path: Path) -> None:
    settings = Settings(batch_size=10, batch_window_seconds=0, max_concurrency=9, publish=True)

    stack = synthesise(tmp_path, settings)

    _, mapping = stack.only("AWS::Lambda::EventSourceMapping")
    assert (mapping["BatchSize"], mapping["MaximumBatchingWindowInSeconds"]) == (10, 0)
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 9}
    assert stack.environment("process")["PUBLISH"] == "true"


def test_the_function_is_told_the_source_of_the_topic(stack: Synthesised) -> None:
    topic = feeding_topic(stack)
    environment = stack.environment("process")

    assert environment["TOPICS"] == {"Fn::Join": ["", ['{"', {"Ref": topic}, '":"ses"}']]}
    assert json.loads(environment["SOURCES"]) == Settings().sources
    assert environment["PUBLISH"] == "false"
    assert environment.keys() - stack.environment("migrate").keys() == {"SOURCES", "TOPICS", "PUBLISH"}


def test_without_ses_there_is_no_topic(tmp_path: Path) -> None:
    stack = synthesise(tmp_path, Settings(sources={"eu": {"provider": "sendgrid"}}))

    assert stack.environment("process")["TOPICS"] == "{}"
    assert not stack.all("AWS::SNS::Subscription")
    # The one that the alarms ring at.
    stack.only("AWS::SNS::Topic")
    assert {"TopicArn", "ConfigurationSetName"}.isdisjoint(stack.template["Outputs"])
