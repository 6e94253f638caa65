"""SES on the queue: the three shapes in which its records come without passing the door."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.envelope import Envelope
from mailfold.errors import NotAnEnvelope
from mailfold.providers.ses import unwrap
from samples.ses import SAMPLES, TOPIC
from tests.support.origins import parse

AT = datetime(2026, 1, 1, tzinfo=UTC)
TOPICS = {TOPIC: "ses"}
RECORD = SAMPLES["Click"]
NOTIFICATION = {"Type": "Notification", "MessageId": "sns-1", "TopicArn": TOPIC, "Message": json.dumps(RECORD) + "\n"}
EVENTBRIDGE = {"version": "0", "id": "eb-1", "detail-type": "Email Clicked", "source": "aws.ses", "detail": RECORD}


def opened(body: dict[str, Any], topics: dict[str, str] | None = None) -> Envelope:
    envelope = unwrap(body, TOPICS if topics is None else topics, AT)
    assert envelope
    return envelope


@pytest.mark.parametrize("body", [NOTIFICATION, EVENTBRIDGE, RECORD], ids=["SNS", "EventBridge", "raw"])
def test_each_shape_holds_the_record_under_a_claim_of_its_own(body: dict[str, Any]) -> None:
    envelope = opened(body)

    assert (envelope.source, envelope.provider, envelope.events) == ("ses", "ses", [RECORD])
    assert envelope.received_at == AT
    assert envelope.claim_key == opened(body).claim_key
    assert envelope.request_hash == opened(body).request_hash


def test_the_shapes_do_not_share_a_claim() -> None:
    assert len({opened(body).claim_key for body in (NOTIFICATION, EVENTBRIDGE, RECORD)}) == 3


def test_another_notification_has_another_claim_and_another_record_another_hash() -> None:
    other_id = {**NOTIFICATION, "MessageId": "sns-2"}
    other_record = {**NOTIFICATION, "Message": json.dumps(SAMPLES["Open"])}

    assert opened(NOTIFICATION).claim_key != opened(other_id).claim_key
    assert opened(NOTIFICATION).claim_key == opened(other_record).claim_key
    assert opened(NOTIFICATION).request_hash != opened(other_record).request_hash


def test_the_notification_s_id_reaches_the_event() -> None:
    one, other = opened(NOTIFICATION), opened({**NOTIFICATION, "MessageId": "sns-2"})

    ids = {parse("ses", RECORD, headers=envelope.headers)[0].event_id for envelope in (one, other)}

    assert len(ids) == 2


def test_the_validation_message_of_ses_is_an_envelope_of_nothing() -> None:
    text = "Successfully validated SNS topic for Amazon SES event publishing."

    assert opened({**NOTIFICATION, "Message": text}).events == []


@pytest.mark.parametrize(
    "change",
    [
        {"TopicArn": "arn:aws:sns:eu-west-1:666677778888:somebody-else"},
        {"Type": "SubscriptionConfirmation"},
        {"Type": "UnsubscribeConfirmation"},
        {"Message": None},
        {"Message": {"eventType": "Click"}},
        {"Message": "not json"},
        {"Message": "[]"},
        {"Message": "5"},
    ],
    ids=str,
)
def test_a_notification_that_is_not_ours_or_not_a_record_is_set_aside(change: dict[str, Any]) -> None:
    with pytest.raises(NotAnEnvelope):
        opened({**NOTIFICATION, **change})


@pytest.mark.parametrize("body", [EVENTBRIDGE, RECORD], ids=["EventBridge", "raw"])
@pytest.mark.parametrize("topics", [{}, {TOPIC: "ses", f"{TOPIC}-2": "ses-us"}], ids=["no source", "two sources"])
def test_a_record_without_a_topic_needs_exactly_one_source(body: dict[str, Any], topics: dict[str, str]) -> None:
    with pytest.raises(NotAnEnvelope):
        opened(body, topics)


@pytest.mark.parametrize(
    "body", [{}, {"Type": "Notification"}, {"source": "aws.ec2", "detail-type": "x"}, {"eventType": "Click"}], ids=str
)
def test_anything_else_is_not_recognised(body: dict[str, Any]) -> None:
    assert unwrap(body, TOPICS, AT) is None
