"""The queue: 200 may be said only when every envelope is on it."""

from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from mailfold.envelope import LARGEST_BYTES, SealedEnvelope
from mailfold.errors import QueueUnavailable
from mailfold.queue import ATTEMPTS, Queue, Record
from tests.support.fakes import FakeSqs, refuse, refuse_all

#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
SQS_BATCH_ENTRIES = 10
SQS_BATCH_BYTES = 1024 * 1024


def envelopes(count: int, size: int = 10) -> list[SealedEnvelope]:
    return [SealedEnvelope(claim_key=f"main:{n}", text=f"{n}:".ljust(size, "x")) for n in range(count)]


def send(sqs: FakeSqs, sealed: list[SealedEnvelope]) -> None:
    Queue(client=sqs, url="https://queue").send(sealed)


@pytest.mark.parametrize("count", [0, 1, 10, 11, 25])
def test_every_envelope_is_sent_in_as_few_calls_as_allowed(count: int) -> None:
    sqs = FakeSqs()

    send(sqs, envelopes(count))

    assert sqs.bodies == [envelope.text for envelope in envelopes(count)]
    assert len(sqs.calls) == -(-count // SQS_BATCH_ENTRIES)
    assert all(len({entry["Id"] for entry in call}) == len(call) for call in sqs.calls)


@pytest.mark.parametrize("size", [60_000, 300_000, 524_288, LARGEST_BYTES + 1_000])
def test_no_call_exceeds_what_sqs_takes(size: int) -> None:
    sqs = FakeSqs()

    send(sqs, envelopes(12, size))

    assert len(sqs.bodies) == 12
    for call in sqs.calls:
        assert len(call) <= SQS_BATCH_ENTRIES
        assert sum(len(entry["MessageBody"].encode()) for entry in call) <= SQS_BATCH_BYTES


def test_only_what_was_refused_is_sent_again() -> None:
    sqs = FakeSqs(refuse(1, 3), refuse(0))

    send(sqs, envelopes(5))

    assert sorted(sqs.bodies) == sorted(envelope.text for envelope in envelopes(5))
    assert [len(call) for call in sqs.calls] == [5, 2, 1]


def test_what_is_refused_every_time_makes_the_queue_unavailable() -> None:
    sqs = FakeSqs(*[refuse(0)] * ATTEMPTS)

    with pytest.raises(QueueUnavailable):
        send(sqs, envelopes(3))

    assert len(sqs.calls) == ATTEMPTS


def test_a_refusal_in_the_last_call_is_not_forgotten() -> None:
    sqs = FakeSqs(refuse(), *[refuse_all] * ATTEMPTS)

    with pytest.raises(QueueUnavailable):
        send(sqs, envelopes(11))


@pytest.mark.parametrize(
    "failure",
    [
        ClientError({"Error": {"Code": "AccessDenied"}}, "SendMessageBatch"),
        EndpointConnectionError(endpoint_url="https://queue"),
        TimeoutError(),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_client_that_fails_makes_the_queue_unavailable(failure: Exception) -> None:
    sqs = FakeSqs(failure)

    with pytest.raises(QueueUnavailable) as refusal:
        send(sqs, envelopes(1))

    assert "https://queue" not in str(refusal.value)


def test_an_answer_that_names_nothing_is_not_success() -> None:
    class Silent:
        def send_message_batch(self, **_: object) -> dict[str, object]:
            return {}

    with pytest.raises(QueueUnavailable):
        Queue(client=Silent(), url="https://queue").send(envelopes(1))


def test_a_record_knows_when_it_was_sent_and_how_often_it_came() -> None:
    record = Record.from_sqs(
        {
            "messageId": "r1",
            "body": "{}",
            "attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1767225600123"},
        }
    )

    assert record == Record(
        record_id="r1", body="{}", receive_count=3, sent_at=datetime(2026, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC)
    )


def test_a_record_without_attributes_came_for_the_first_time() -> None:
    assert Record.from_sqs({"messageId": "r1", "body": "{}"}).receive_count == 1
