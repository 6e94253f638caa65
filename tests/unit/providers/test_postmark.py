"""Postmark: every row of its tables, times of 0 and 7 digits, and what tells two events of one message apart."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.postmark import BOUNCES, RECORDS, SUPPRESSIONS, TRACE_HEADER
from samples.postmark import SAMPLES
from tests.support.endpoint import Endpoint, meaning, read

MEANINGS = {
    "bounce HardBounce": "bounced/hard suppress",
    "bounce SoftBounce": "bounced/soft",
    "bounce Transient": "deferred",
    "bounce DnsError": "deferred",
    "bounce Blocked": "bounced/soft for the message",
    "bounce DMARCPolicy": "bounced/soft for the message",
    "bounce SpamNotification": "bounced/soft for the message",
    "bounce VirusNotification": "bounced/soft for the message",
    "bounce BadEmailAddress": "dropped suppress",
    "bounce ManuallyDeactivated": "dropped suppress",
    "bounce Unconfirmed": "dropped suppress",
    "bounce SpamComplaint": "complained suppress",
    "bounce Unsubscribe": "unsubscribed suppress",
    "bounce Subscribe": "resubscribed lift",
    "bounce SMTPApiError": "dropped",
    "bounce TemplateRenderingFailed": "dropped",
    "bounce InboundError": "other",
    "bounce AutoResponder": "other",
    "bounce AddressChange": "other",
    "bounce ChallengeVerification": "other",
    "bounce OpenRelayTest": "other",
    "bounce Unknown": "other",
    "bounce of a new kind": "other",
    "soft bounce that stopped the address": "bounced/soft suppress",
    "Delivery": "delivered",
    "Open": "opened",
    "Click": "clicked",
    "SpamComplaint": "complained suppress",
    "left a stream": "unsubscribed suppress in stream:broadcast",
    "stream stopped by a bounce": "bounced/hard suppress in stream:broadcast",
    "stream stopped by a complaint": "complained suppress in stream:broadcast",
    "joined a stream again": "resubscribed lift in stream:broadcast",
    "unknown": "other",
}

NO_TRACE: dict[str, str] = {}


def changed(name: str, *, headers: dict[str, str] | None = None, **change: Any) -> Event:
    return read("postmark", {**SAMPLES[name], **change}, headers=NO_TRACE if headers is None else headers)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(changed(name)) == MEANINGS[name]


def test_each_row_of_the_tables_has_a_sample() -> None:
    assert {f"bounce {kind}" for kind in BOUNCES} <= SAMPLES.keys()
    assert RECORDS.keys() <= SAMPLES.keys()
    assert SUPPRESSIONS.keys() <= {raw.get("SuppressionReason") for raw in SAMPLES.values()}


@pytest.mark.parametrize("code", [1, 512, 100001, None])
def test_the_type_is_read_by_its_word_not_by_its_code(code: int | None) -> None:
    assert meaning(changed("SpamComplaint", TypeCode=code)) == "complained suppress"
    assert meaning(changed("bounce SoftBounce", TypeCode=code)) == "bounced/soft"


@pytest.mark.parametrize(
    ("stamp", "moment"),
    [
        ("2026-01-01T00:00:05Z", datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)),
        ("2026-01-01T00:00:05.1234567Z", datetime(2026, 1, 1, 0, 0, 5, 123_456, tzinfo=UTC)),
        ("2025-12-31T20:00:05.1234567-04:00", datetime(2026, 1, 1, 0, 0, 5, 123_456, tzinfo=UTC)),
        ("2025-12-31T20:00:05-04:00", datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)),
    ],
)
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("bounce HardBounce", "BouncedAt"),
        ("Delivery", "DeliveredAt"),
        ("Open", "ReceivedAt"),
        ("left a stream", "ChangedAt"),
    ],
)
def test_times_have_none_or_seven_digits_and_any_offset(name: str, field: str, stamp: str, moment: datetime) -> None:
    assert changed(name, **{field: stamp}).occurred_at == moment


@pytest.mark.parametrize("name", ["Click", "Open"])
def test_two_in_one_microsecond_are_two(name: str) -> None:
    first = changed(name, ReceivedAt="2026-01-01T01:00:01.1234561Z")
    second = changed(name, ReceivedAt="2026-01-01T01:00:01.1234562Z")

    assert first.occurred_at == second.occurred_at
    assert first.event_id != second.event_id


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Click", {"OriginalLink": "https://example.com/b"}),
        ("Click", {"ClickLocation": "Text"}),
        ("Open", {"UserAgent": "Other/1.0"}),
        ("Open", {"Geo": {"IP": "192.0.2.2"}}),
        ("Delivery", {"Recipient": "bob@example.com"}),
        ("left a stream", {"MessageStream": "outbound"}),
        ("left a stream", {"ChangedAt": "2026-01-04T00:00:00Z"}),
        ("left a stream", {"SuppressSending": False}),
        ("left a stream", {"ServerID": 24}),
    ],
    ids=str,
)
def test_without_a_trace_whatever_differs_makes_another_event(name: str, change: dict[str, Any]) -> None:
    assert changed(name, **change).event_id != changed(name).event_id


@pytest.mark.parametrize("name", ["Click", "Open", "Delivery", "left a stream"])
def test_the_trace_is_the_same_on_every_retry_and_tells_events_apart(name: str) -> None:
    first = changed(name, headers={TRACE_HEADER: "trace-1"})
    retried = changed(name, headers={TRACE_HEADER: "trace-1", "x-pm-retries-remaining": "8"})
    second = changed(name, headers={TRACE_HEADER: "trace-2"})

    assert first.event_id == retried.event_id != second.event_id


def test_the_trace_travels_with_the_event() -> None:
    endpoint = Endpoint("postmark")
    body, headers = endpoint.sign(endpoint.sampler.body([SAMPLES["Click"]]))

    endpoint.post(body, headers)

    assert endpoint.envelopes[0]["headers"] == {TRACE_HEADER: headers["X-PM-Webhook-Trace-Id"]}


@pytest.mark.parametrize(
    ("secret", "headers", "status"),
    [
        ("basic:user:k8Jq:2w9Zr5Tn", {"Authorization": "Basic dXNlcjprOEpxOjJ3OVpyNVRu"}, 200),
        ("basic:user:k8Jq:2w9Zr5Tn", {"Authorization": "basic  dXNlcjprOEpxOjJ3OVpyNVRu "}, 200),
        ("basic:user:k8Jq2w9Z", {"Authorization": "Bearer user:k8Jq2w9Z"}, 401),
        ("bearer:t0ken-k8Jq", {"Authorization": "Bearer t0ken-k8Jq"}, 200),
        ("bearer:t0ken-k8Jq", {"Authorization": "t0ken-k8Jq"}, 401),
        ("header:X-Hook: s3cret-k8Jq", {"X-Hook": "s3cret-k8Jq"}, 200),
        ("header:X-Hook:s3cret-k8Jq", {"X-Hook": "S3cret-k8Jq"}, 401),
        ("header:X-Hook:s3cret-k8Jq", {}, 401),
        ("header:X-Hook: ", {}, 503),
        ("header:X-Hook: ", {"X-Hook": ""}, 503),
        ("header:", {"": ""}, 503),
        ("basic:", {"Authorization": "Basic "}, 503),
        ("bearer:", {"Authorization": "Bearer "}, 503),
        ("s3cret-k8Jq", {"Authorization": "s3cret-k8Jq"}, 503),
    ],
    ids=str,
)
def test_a_credential_is_sent_where_its_secret_says(secret: str, headers: dict[str, str], status: int) -> None:
    endpoint = Endpoint("postmark", secrets=[secret])

    assert endpoint.post(endpoint.sampler.body([SAMPLES["Click"]]), headers).status == status


@pytest.mark.parametrize("name", ["bounce HardBounce", "SpamComplaint"])
def test_a_bounce_has_an_id_of_its_own_whatever_the_trace(name: str) -> None:
    assert changed(name).event_id == changed(name, headers={TRACE_HEADER: "trace-1"}).event_id
    assert changed(name).event_id != changed(name, ID=42).event_id


def test_the_kind_and_the_reason_keep_postmarks_words() -> None:
    bounce, change = changed("bounce HardBounce"), changed("left a stream")

    assert (bounce.kind, bounce.reason) == ("Bounce/HardBounce", "smtp;550 5.1.1 no such user")
    assert (change.kind, change.reason) == ("SubscriptionChange/ManualSuppression", "ManualSuppression")


def test_the_recipient_goes_by_two_names() -> None:
    assert changed("bounce HardBounce").recipient == "bob@example.com"
    assert changed("Delivery", Recipient="Ann@Example.com").recipient == "ann@example.com"


def test_a_suppression_by_hand_belongs_to_no_message() -> None:
    assert changed("left a stream", MessageID="00000000-0000-0000-0000-000000000000").message_id is None
    assert changed("left a stream", MessageID=...).message_id is None
    assert changed("left a stream").message_id == "00000000-aaaa-4000-8000-000000000001"


@pytest.mark.parametrize("name", ["Delivery", "bounce HardBounce"])
def test_an_event_without_a_time_is_unparseable(name: str) -> None:
    with pytest.raises(UnparseableEvent):
        changed(name, DeliveredAt=None, BouncedAt=None)
