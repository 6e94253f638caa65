"""SNS over HTTPS: the string that is signed belongs to one message, and no field can stand in for another."""

import json
from datetime import timedelta
from typing import Any

import pytest

from samples import Keys, Raw
from samples.ses import TOPIC, make_keys
from tests.support.endpoint import NOW, Endpoint
from tests.unit.providers.test_ses_https import CONFIRMATION, NOTIFICATION, SIGNED, headers_of, post, sealed

OLD = (NOW - timedelta(days=90)).isoformat(timespec="milliseconds")
FRESH = NOW.isoformat(timespec="milliseconds")
KINDS = {"Notification": NOTIFICATION, "SubscriptionConfirmation": CONFIRMATION}
EVERY_FIELD = [(kind, field) for kind, fields in SIGNED.items() for field in fields]
NO_TEXTS = [None, 5, 1.5, True, False, [], ["x"], {}, {"a": "b"}, [NOTIFICATION["Subject"]]]
#: Where a captured, stale notification could hide its own time, so that a fresh one counts.
SHIFTS: dict[str, Raw] = {
    "number": {"Subject": f"{NOTIFICATION['Subject']}\nTimestamp\n{OLD}", "Timestamp": int(NOW.timestamp())},
    "float": {"Subject": f"{NOTIFICATION['Subject']}\nTimestamp\n{OLD}", "Timestamp": NOW.timestamp()},
    "milliseconds": {"Subject": f"{NOTIFICATION['Subject']}\nTimestamp\n{OLD}", "Timestamp": NOW.timestamp() * 1000},
    "digits": {"Subject": f"{NOTIFICATION['Subject']}\nTimestamp\n{OLD}", "Timestamp": str(int(NOW.timestamp()))},
    "text": {"Subject": f"{NOTIFICATION['Subject']}\nTimestamp\n{OLD}", "Timestamp": FRESH},
    "into the id": {
        "MessageId": f"{NOTIFICATION['MessageId']}\nSubject\n{NOTIFICATION['Subject']}\nTimestamp\n{OLD}",
        "Subject": None,
        "Timestamp": int(NOW.timestamp()),
    },
    "into the message": {
        "Message": f"{NOTIFICATION['Message']}\nMessageId\n{NOTIFICATION['MessageId']}\nSubject\n"
        f"{NOTIFICATION['Subject']}\nTimestamp\n{OLD}",
        "MessageId": 5,
        "Subject": None,
        "Timestamp": int(NOW.timestamp()),
    },
    "into the topic": {"TopicArn": f"{TOPIC}", "Timestamp": f"{OLD}\nTimestamp\n{FRESH}"},
    "two lines of time": {"Timestamp": f"{FRESH}\nTimestamp\n{OLD}"},
    "a list of times": {"Timestamp": [FRESH, OLD]},
    "only a new time": {"Timestamp": FRESH},
}


@pytest.fixture(scope="module")
def keys() -> Keys:
    return make_keys()


@pytest.fixture
def endpoint(keys: Keys) -> Endpoint:
    return Endpoint("ses", keys=keys)


@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
def test_a_stale_notification_stays_stale_wherever_its_time_is_moved(
    endpoint: Endpoint, keys: Keys, shift: Raw
) -> None:
    captured = sealed(keys, NOTIFICATION, Timestamp=OLD)
    assert post(endpoint, captured) == 401

    assert post(endpoint, {**captured, **shift}) == 401
    assert endpoint.sqs.bodies == []


@pytest.mark.parametrize("subject", [NOTIFICATION["Subject"], ...], ids=["subject", "no subject"])
@pytest.mark.parametrize("lines", ["\n", "a\n", "\nTimestamp\n", "a\nSubject\nb"], ids=repr)
@pytest.mark.parametrize("field", [field for field in SIGNED["Notification"] if field != "Message"])
def test_only_the_message_may_hold_a_line_feed_even_if_sns_signed_it(
    endpoint: Endpoint, keys: Keys, field: str, lines: str, subject: Any
) -> None:
    message = {**NOTIFICATION, "Subject": subject}
    value = lines if message[field] is ... else f"{message[field]}{lines}"

    late = field == "Type"
    signed = {**sealed(keys, message, **({} if late else {field: value})), field: value}

    assert post(endpoint, signed) == 401
    assert endpoint.sqs.bodies == []


@pytest.mark.parametrize("lines", ["\n", "\n\n", "\nMessageId\nanother\n", "\r\n", "\nSubject\nx"], ids=repr)
def test_the_messages_own_line_feeds_are_signed_like_the_rest(endpoint: Endpoint, keys: Keys, lines: str) -> None:
    message = sealed(keys, NOTIFICATION, Message=f"{lines} {json.dumps({'pad': lines})} {lines}")

    # Signed as it is; whether it then is JSON is another question.
    assert post(endpoint, message) in {200, 400}


@pytest.mark.parametrize(("kind", "field"), EVERY_FIELD)
@pytest.mark.parametrize("value", NO_TEXTS, ids=repr)
def test_a_signed_field_that_is_no_text_is_refused_whatever_was_signed(
    endpoint: Endpoint, keys: Keys, kind: str, field: str, value: Any
) -> None:
    whole = KINDS[kind]
    without = {name: text for name, text in whole.items() if name != field}
    for signed in (sealed(keys, whole), sealed(keys, without) if field != "Type" else sealed(keys, whole)):
        message = {**signed, field: value}
        headers = {**headers_of(whole), "x-amz-sns-message-id": str(message["MessageId"])}

        assert endpoint.post(json.dumps(message).encode(), headers).status == 401
    assert (endpoint.sqs.bodies, endpoint.fetcher.confirmed) == ([], [])


@pytest.mark.parametrize(("kind", "field"), [pair for pair in EVERY_FIELD if pair[1] not in {"Subject", "Type"}])
def test_a_signed_field_that_is_missing_is_refused_even_if_it_was_not_signed(
    endpoint: Endpoint, keys: Keys, kind: str, field: str
) -> None:
    message = sealed(keys, KINDS[kind], **{field: ...})
    headers = headers_of({**KINDS[kind], **message})

    assert endpoint.post(json.dumps(message).encode(), headers).status == 401
    assert (endpoint.sqs.bodies, endpoint.fetcher.confirmed) == ([], [])


@pytest.mark.parametrize("field", ["SignatureVersion", "Signature", "SigningCertURL", "TopicArn", "Type"])
@pytest.mark.parametrize("value", [2, None, ["2"], {"a": 1}], ids=repr)
def test_what_the_check_itself_reads_is_text_too(endpoint: Endpoint, keys: Keys, field: str, value: Any) -> None:
    message = {**sealed(keys, NOTIFICATION), field: value}

    assert endpoint.post(json.dumps(message).encode(), headers_of(NOTIFICATION)).status == 401
    assert endpoint.sqs.bodies == []


@pytest.mark.parametrize("field", SIGNED["Notification"])
def test_of_a_field_that_comes_twice_the_one_that_is_verified_is_the_one_that_counts(
    endpoint: Endpoint, keys: Keys, field: str
) -> None:
    genuine = sealed(keys, NOTIFICATION)
    other = {**NOTIFICATION, "Timestamp": OLD, "Message": json.dumps({"eventType": "Complaint"})}
    other[field] = "another" if other[field] == NOTIFICATION[field] else other[field]
    text = json.dumps(genuine)
    first = f"{{{json.dumps(field)}: {json.dumps(other[field])}, {text[1:]}".encode()
    last = f"{text[:-1]}, {json.dumps(field)}: {json.dumps(other[field])}}}".encode()

    assert endpoint.post(last, headers_of(genuine)).status == 401
    assert endpoint.sqs.bodies == []
    if endpoint.post(first, headers_of(genuine)).status == 200:
        assert endpoint.queued == [json.loads(str(NOTIFICATION["Message"]))]


def test_a_confirmation_cannot_be_made_of_a_notification(endpoint: Endpoint, keys: Keys) -> None:
    captured = sealed(keys, NOTIFICATION)
    fields = {name: CONFIRMATION[name] for name in ("SubscribeURL", "Token")}

    assert post(endpoint, {**captured, **fields, "Type": "SubscriptionConfirmation"}) == 401
    assert endpoint.fetcher.confirmed == []


def test_spare_fields_of_any_kind_change_nothing(endpoint: Endpoint, keys: Keys) -> None:
    message = {**sealed(keys, NOTIFICATION), "Token": 5, "SubscribeURL": None, "Spare": [1]}

    assert post(endpoint, message) == 200
