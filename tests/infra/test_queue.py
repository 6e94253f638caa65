"""The queue: private, encrypted, and patient enough for hours without a database."""

from pathlib import Path

import pytest
from aws_cdk import Duration

from infra.queue import OUTAGE, max_receive_count, visibility_timeout
from infra.settings import Settings
from tests.infra.template import Resource, Synthesised, rendered, synthesise


def main_queue(stack: Synthesised) -> tuple[str, Resource]:
    ((name, queue),) = [(name, it) for name, it in stack.all("AWS::SQS::Queue").items() if "RedrivePolicy" in it]
    return name, queue


def feeding_topic(stack: Synthesised) -> str:
    """Return the topic that puts what it is told on the queue."""
    (topic,) = [it["TopicArn"]["Ref"] for it in stack.all("AWS::SNS::Subscription").values() if it["Protocol"] == "sqs"]
    return str(topic)


def policy_of(stack: Synthesised, queue: str) -> list[Resource]:
    (policy,) = [it for it in stack.all("AWS::SQS::QueuePolicy").values() if it["Queues"] == [{"Ref": queue}]]
    return policy["PolicyDocument"]["Statement"]


def test_every_queue_is_encrypted_tls_only_and_keeps_two_weeks(stack: Synthesised) -> None:
    queues = stack.all("AWS::SQS::Queue")

    # The queue, its dead letters, those of the topic, and one for each step that the clock calls.
    assert len(queues) == 3 + len(stack.all("AWS::Scheduler::Schedule"))
    for name, queue in queues.items():
        assert queue["SqsManagedSseEnabled"] is True
        assert queue["MessageRetentionPeriod"] == 14 * 24 * 3600
        assert not queue.get("FifoQueue")
        denied = [it for it in policy_of(stack, name) if it["Effect"] == "Deny"]
        assert [it["Condition"] for it in denied] == [{"Bool": {"aws:SecureTransport": "false"}}]


def test_a_record_is_hidden_for_one_run_and_the_window_so_that_neighbours_of_a_killer_wait_no_longer(
    stack: Synthesised,
) -> None:
    _, queue = main_queue(stack)
    _, process = stack.function("process")
    _, mapping = stack.only("AWS::Lambda::EventSourceMapping")

    run = process["Timeout"] + mapping["MaximumBatchingWindowInSeconds"]
    # Lambda refuses a queue that hides a record for less than a run.
    assert run < queue["VisibilityTimeout"] < 2 * run
    assert queue["VisibilityTimeout"] <= 100


@pytest.mark.parametrize("window", [1, 20, 300])
def test_four_hours_of_outage_send_nothing_to_the_dead_letters(window: int, tmp_path: Path) -> None:
    _, queue = main_queue(synthesise(tmp_path, Settings(batch_window_seconds=window)))
    receives = queue["RedrivePolicy"]["maxReceiveCount"]

    assert receives * queue["VisibilityTimeout"] >= 4 * 3600
    # SQS takes no more than a thousand.
    assert 5 <= receives <= 1_000


def test_the_count_follows_from_the_visibility() -> None:
    visibility = visibility_timeout(Duration.seconds(60), Duration.seconds(1))

    assert visibility.to_seconds() == 91
    assert max_receive_count(visibility) == 159
    assert OUTAGE.to_hours() >= 4


def test_only_the_queue_itself_may_fill_its_dead_letters(stack: Synthesised) -> None:
    _, queue = main_queue(stack)
    dead = queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]

    allowed = stack.resources[dead]["Properties"]["RedriveAllowPolicy"]

    assert allowed["redrivePermission"] == "byQueue"
    assert [rendered(arn).rsplit(":", 1)[1] for arn in allowed["sourceQueueArns"]] == [queue["QueueName"]]


def test_nobody_but_the_topic_is_let_in_by_the_queue_policy(stack: Synthesised) -> None:
    name, _ = main_queue(stack)
    topic = feeding_topic(stack)

    (allowed,) = [it for it in policy_of(stack, name) if it["Effect"] == "Allow"]

    assert allowed["Action"] == "sqs:SendMessage"
    assert allowed["Principal"] == {"Service": "sns.amazonaws.com"}
    assert allowed["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Ref": topic}}}


def test_without_ses_the_queue_policy_lets_nobody_in(tmp_path: Path) -> None:
    stack = synthesise(tmp_path, Settings(sources={"eu": {"provider": "sendgrid"}}))
    name, _ = main_queue(stack)

    assert [it["Effect"] for it in policy_of(stack, name)] == ["Deny"]
