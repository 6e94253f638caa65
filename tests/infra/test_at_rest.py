"""What docs/security.md says about encryption at rest is what the template has."""

from pathlib import Path

from tests.infra.template import Synthesised
from tests.infra.test_queue import feeding_topic

PAGE = " ".join((Path(__file__).resolve().parents[2] / "docs/security.md").read_text().split())


def test_the_feedback_topic_has_no_key_and_the_page_says_so(stack: Synthesised) -> None:
    topic = stack.all("AWS::SNS::Topic")[feeding_topic(stack)]
    told = "The SNS topic that carries the events of SES, addresses included, has no key of KMS"

    assert ("KmsMasterKeyId" not in topic) == (told in PAGE)


def test_the_queues_are_encrypted_by_sqs_and_the_page_says_so(stack: Synthesised) -> None:
    queues = stack.all("AWS::SQS::Queue").values()

    assert all(queue["SqsManagedSseEnabled"] is True for queue in queues)
    assert "the queues with keys of SQS (SSE-SQS)" in PAGE


def test_the_database_is_encrypted(stack: Synthesised) -> None:
    _, database = stack.only("AWS::RDS::DBInstance")

    assert database["StorageEncrypted"] is True
    assert ("KmsKeyId" not in database) == ("with the account's own key for RDS" in PAGE)
