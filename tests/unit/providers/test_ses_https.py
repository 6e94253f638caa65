"""SES over HTTPS: what SNS signs, whose topics are admitted, and which hosts are ever asked for anything."""

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from samples import Keys, Raw
from samples.ses import CERTIFICATE_URL, SAMPLES, TOPIC, make_keys
from tests.support.endpoint import NOW, Endpoint, meaning

HOST = "https://sns.eu-west-1.amazonaws.com"
CONFIRM_URL = f"{HOST}/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f37"
STAMP = "2026-11-18T12:00:00.000Z"
ALGORITHMS: dict[str, hashes.HashAlgorithm] = {"1": hashes.SHA1(), "2": hashes.SHA256()}
NOTIFICATION: Raw = {
    "Type": "Notification",
    "MessageId": "5a1e0b52-0000-5000-8000-000000000001",
    "TopicArn": TOPIC,
    "Subject": "Amazon SES Email Event Notification",
    # SES ends what it publishes with a line feed, which is signed.
    "Message": json.dumps(SAMPLES["permanent bounce"]) + "\n",
    "Timestamp": STAMP,
    "SignatureVersion": "2",
    "SigningCertURL": CERTIFICATE_URL,
    "UnsubscribeURL": f"{HOST}/?Action=Unsubscribe",
}
CONFIRMATION: Raw = {
    "Type": "SubscriptionConfirmation",
    "MessageId": "5a1e0b52-0000-5000-8000-000000000002",
    "Token": "2336412f37",
    "TopicArn": TOPIC,
    "Message": "You have chosen to subscribe to the topic.",
    "SubscribeURL": CONFIRM_URL,
    "Timestamp": STAMP,
    "SignatureVersion": "2",
    "SigningCertURL": CERTIFICATE_URL,
}
SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
}


@pytest.fixture(scope="module")
def keys() -> Keys:
    return make_keys()


@pytest.fixture
def endpoint(keys: Keys) -> Endpoint:
    return Endpoint("ses", keys=keys)


def sealed(keys: Keys, message: Raw, **change: Any) -> Raw:
    """Sign a message as SNS does; fields that are ... are left out."""
    message = {name: value for name, value in {**message, **change}.items() if value is not ...}
    fields = SIGNED.get(message["Type"], SIGNED["SubscriptionConfirmation"])
    text = "".join(f"{name}\n{message[name]}\n" for name in fields if name in message)
    private = load_pem_private_key(keys.signer.encode(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    digest = ALGORITHMS.get(message["SignatureVersion"], hashes.SHA256())
    signature = private.sign(text.encode(), padding.PKCS1v15(), digest)
    return {**message, "Signature": base64.b64encode(signature).decode()}


def headers_of(message: Raw) -> dict[str, str]:
    return {
        "Content-Type": "text/plain; charset=UTF-8",
        "x-amz-sns-message-type": str(message["Type"]),
        "x-amz-sns-message-id": str(message["MessageId"]),
        "x-amz-sns-topic-arn": str(message["TopicArn"]),
    }


def post(endpoint: Endpoint, message: Raw, **more: Any) -> int:
    return endpoint.post(json.dumps(message).encode(), headers_of(message), **more).status


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("subject", ["Amazon SES Email Event Notification", ...], ids=["subject", "no subject"])
def test_both_versions_of_the_signature_are_read(endpoint: Endpoint, keys: Keys, version: str, subject: Any) -> None:
    message = sealed(keys, NOTIFICATION, SignatureVersion=version, Subject=subject)

    assert post(endpoint, message) == 200
    assert endpoint.queued == [SAMPLES["permanent bounce"]]
    assert endpoint.fetcher.certificates == [CERTIFICATE_URL]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("Message", json.dumps(SAMPLES["permanent bounce"])),
        ("Message", json.dumps(SAMPLES["complaint"])),
        ("MessageId", "another"),
        ("Subject", "another"),
        ("Subject", ...),
        ("Timestamp", "2026-11-18T12:00:01.000Z"),
        ("Type", "UnsubscribeConfirmation"),
        ("Signature", "AAAA"),
        ("Signature", ""),
        ("Signature", ...),
        ("SignatureVersion", "1"),
        ("SignatureVersion", "3"),
        ("SignatureVersion", ...),
    ],
)
def test_every_signed_field_is_held_to_the_signature(endpoint: Endpoint, keys: Keys, field: str, value: Any) -> None:
    message = sealed(keys, NOTIFICATION)
    tampered = {name: text for name, text in {**message, field: value}.items() if text is not ...}

    assert post(endpoint, tampered) == 401
    assert endpoint.sqs.bodies == []


def test_what_is_not_signed_may_change(endpoint: Endpoint, keys: Keys) -> None:
    message = {**sealed(keys, NOTIFICATION), "MessageAttributes": {"a": 1}, "UnsubscribeURL": "https://example.com"}

    assert post(endpoint, message) == 200


def test_a_value_is_signed_as_it_reads_and_not_as_it_is_escaped(endpoint: Endpoint, keys: Keys) -> None:
    message = sealed(keys, NOTIFICATION, Subject="é\t\u2028/", Message=NOTIFICATION["Message"] + "\n")
    escaped = json.dumps(message).replace("/", "\\/").encode()

    assert endpoint.post(escaped, headers_of(message)).status == 200
    assert endpoint.post(json.dumps(message, ensure_ascii=False).encode(), headers_of(message)).status == 200


def test_version_1_can_be_refused(keys: Keys) -> None:
    strict = Endpoint("ses", keys=keys, options={"http": True, "refuse_sha1": True})

    assert post(strict, sealed(keys, NOTIFICATION, SignatureVersion="1")) == 401
    assert post(strict, sealed(keys, NOTIFICATION, SignatureVersion="2")) == 200


def test_a_source_that_asks_for_no_requests_gets_none(keys: Keys) -> None:
    assert post(Endpoint("ses", keys=keys, options={}), sealed(keys, NOTIFICATION)) == 404


@pytest.mark.parametrize("message", [NOTIFICATION, CONFIRMATION], ids=["notification", "confirmation"])
def test_a_topic_that_is_not_admitted_gets_nothing_fetched(keys: Keys, message: Raw) -> None:
    other = Endpoint("ses", keys=keys, secrets=["arn:aws:sns:eu-west-1:999999999999:other"])

    assert post(other, sealed(keys, message)) == 401
    assert (other.fetcher.certificates, other.fetcher.confirmed, other.sqs.bodies) == ([], [], [])


@pytest.mark.parametrize(
    "url",
    [
        "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://sns.eu-west-2.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://sns.s3-us-west-2.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://sns.s3.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://s3.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://sns.eu-west-1.amazonaws.com.cn/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://sns.eu-west-1.amazonaws.com.example.org/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://sns.eu-west-1.amazonaws.com@example.org/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://user@sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://sns.eu-west-1.amazonaws.com:8443/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "https://SNS.eu-west-1.amazonaws.com\\@example.org/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        f"{HOST}/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem.txt",
        f"{HOST}/x/../SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        f"{HOST}/SimpleNotificationService-0123456789ABCDEF0123456789abcdef.pem",
        f"{HOST}/SimpleNotificationService-short.pem",
        f"{HOST}/?Action=Anything",
        f"{CERTIFICATE_URL}#x",
        "https://[::1/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        "",
        ...,
    ],
)
def test_a_certificate_from_anywhere_else_is_not_even_fetched(endpoint: Endpoint, keys: Keys, url: Any) -> None:
    assert post(endpoint, sealed(keys, NOTIFICATION, SigningCertURL=url)) == 401
    assert endpoint.fetcher.certificates == []


@pytest.mark.parametrize(
    ("topic", "host"),
    [
        ("arn:aws:sns:us-east-1:210987654321:t", "sns.us-east-1.amazonaws.com"),
        ("arn:aws-us-gov:sns:us-gov-west-1:210987654321:t", "sns.us-gov-west-1.amazonaws.com"),
        ("arn:aws-cn:sns:cn-north-1:210987654321:t", "sns.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_each_partition_has_its_own_host(keys: Keys, topic: str, host: str) -> None:
    url = f"https://{host}/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem"
    endpoint = Endpoint("ses", keys=keys, secrets=[topic])

    assert post(endpoint, sealed(keys, NOTIFICATION, TopicArn=topic, SigningCertURL=url)) == 200
    assert endpoint.fetcher.certificates == [url]


def test_another_certificate_proves_nothing(keys: Keys) -> None:
    endpoint = Endpoint("ses", keys=make_keys())

    assert post(endpoint, sealed(keys, NOTIFICATION)) == 401


@pytest.mark.parametrize("header", ["x-amz-sns-message-type", "x-amz-sns-message-id"])
@pytest.mark.parametrize("value", ["SubscriptionConfirmation", ""])
def test_headers_and_body_must_agree(endpoint: Endpoint, keys: Keys, header: str, value: str) -> None:
    message = sealed(keys, NOTIFICATION)
    headers = {**headers_of(message), header: value}

    assert endpoint.post(json.dumps(message).encode(), headers).status == 401


@pytest.mark.parametrize(
    ("late", "status"),
    [(timedelta(minutes=119), 200), (timedelta(minutes=121), 401), (timedelta(minutes=-121), 401)],
)
def test_a_retry_repeats_the_time_of_publishing(endpoint: Endpoint, keys: Keys, late: timedelta, status: int) -> None:
    assert post(endpoint, sealed(keys, NOTIFICATION), received_at=NOW + late) == status


@pytest.mark.parametrize("stamp", ["soon", "", "²"])
def test_a_signed_time_that_is_none_is_refused(endpoint: Endpoint, keys: Keys, stamp: str) -> None:
    assert post(endpoint, sealed(keys, NOTIFICATION, Timestamp=stamp)) == 401


def test_a_certificate_that_cannot_be_fetched_makes_sns_try_again(endpoint: Endpoint, keys: Keys) -> None:
    endpoint.fetcher.cut_off = True

    # SNS takes any 4xx for final.
    assert post(endpoint, sealed(keys, NOTIFICATION)) == 503


def test_an_admitted_topic_is_confirmed_at_its_own_sns(endpoint: Endpoint, keys: Keys) -> None:
    assert post(endpoint, sealed(keys, CONFIRMATION)) == 200
    assert endpoint.fetcher.confirmed == [CONFIRM_URL]
    assert endpoint.sqs.bodies == []


def test_a_confirmation_that_does_not_come_through_is_asked_for_again(endpoint: Endpoint, keys: Keys) -> None:
    message = sealed(keys, CONFIRMATION)
    post(endpoint, message)
    endpoint.fetcher.cut_off = True

    assert post(endpoint, message) == 503


def test_a_forged_confirmation_is_not_followed(endpoint: Endpoint, keys: Keys) -> None:
    message = {**sealed(keys, CONFIRMATION), "Token": "another"}

    assert post(endpoint, message) == 401
    assert endpoint.fetcher.confirmed == []


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/?Action=ConfirmSubscription",
        "http://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription",
        "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription",
        "https://sns.eu-west-1.amazonaws.com:444/?Action=ConfirmSubscription",
        f"{HOST}/elsewhere?Action=ConfirmSubscription",
        f"{HOST}/?Action=DeleteTopic",
        f"{HOST}/?Action=ConfirmSubscription&Action=DeleteTopic",
        f"{HOST}/",
        "",
        ...,
    ],
)
def test_a_link_to_anywhere_else_is_not_followed_even_when_signed(endpoint: Endpoint, keys: Keys, url: Any) -> None:
    assert post(endpoint, sealed(keys, CONFIRMATION, SubscribeURL=url)) == 401
    assert endpoint.fetcher.confirmed == []


def test_leaving_is_acknowledged_and_not_undone(endpoint: Endpoint, keys: Keys) -> None:
    message = sealed(keys, CONFIRMATION, Type="UnsubscribeConfirmation")

    assert post(endpoint, message) == 200
    assert (endpoint.fetcher.confirmed, endpoint.sqs.bodies) == ([], [])


def test_the_message_that_tries_a_topic_out_holds_no_event(endpoint: Endpoint, keys: Keys) -> None:
    words = "Successfully validated SNS topic for Amazon SES event publishing."

    assert post(endpoint, sealed(keys, NOTIFICATION, Message=words)) == 200
    assert endpoint.sqs.bodies == []


@pytest.mark.parametrize("words", ["hello", "5", "[5]", ""])
def test_a_genuine_notification_of_something_else_is_malformed(endpoint: Endpoint, keys: Keys, words: str) -> None:
    assert post(endpoint, sealed(keys, NOTIFICATION, Message=words)) == 400


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b"\xff", json.dumps(SAMPLES["Open"]).encode()], ids=len)
def test_raw_delivery_carries_no_proof_and_is_refused(endpoint: Endpoint, body: bytes) -> None:
    headers = {**headers_of(NOTIFICATION), "x-amz-sns-rawdelivery": "true"}

    assert endpoint.post(body, headers).status == 401


def test_both_producers_of_one_bounce_make_one_event(endpoint: Endpoint, keys: Keys) -> None:
    published = SAMPLES["permanent bounce"]
    notified = {"notificationType": "Bounce", "bounce": published["bounce"], "mail": dict(published["mail"])}
    del notified["mail"]["tags"]

    post(endpoint, sealed(keys, NOTIFICATION))
    post(endpoint, sealed(keys, NOTIFICATION, MessageId="5a1e-2", Subject=..., Message=json.dumps(notified)))

    first, second = (endpoint.read(raw) for raw in endpoint.queued)
    assert first.raw != second.raw
    assert meaning(first) == "bounced/hard suppress"
    assert (first.event_id, first.fingerprint) == (second.event_id, second.fingerprint)


def test_the_notifications_id_travels_with_the_event(endpoint: Endpoint, keys: Keys) -> None:
    post(endpoint, sealed(keys, NOTIFICATION))

    assert endpoint.envelopes[0]["headers"] == {"x-amz-sns-message-id": NOTIFICATION["MessageId"]}
