"""Whatever a stranger sends to any source: only the documented probes are answered 2xx, and nothing is queued.

Two parts: a table of header sets and bodies for every source, and requests that were genuine before they were changed.
Both must be able to fail, so both are run once more against doors that believe everybody.
"""

import base64
import contextlib
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from mailfold.providers import REGISTRY
from mailfold.providers.mailersend import PUBLIC_TEST_SECRET
from mailfold.request import Request, Source
from mailfold.signatures import Proof, prove_credential
from samples import sampler
from tests.support.endpoint import NOW, Endpoint

STAMP = str(int(NOW.timestamp()))
EMPTY_MD5 = hashlib.md5(b"").hexdigest()
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
ZERO = base64.b64encode(bytes(32)).decode()
ZERO_ED25519 = base64.b64encode(bytes(64)).decode()
#: Two zeros in DER, once as they are and once as long as real ones.
ZERO_ECDSA = base64.b64encode(b"\x30\x06\x02\x01\x00\x02\x01\x00").decode()
#: The order of P-256, which some libraries have taken for zero.
ORDER_ECDSA = base64.b64encode(
    b"\x30\x26\x02\x21\x00"
    + bytes.fromhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    + b"\x02\x01\x01"
).decode()
ZERO_RSA = base64.b64encode(bytes(256)).decode()
ONE_RSA = base64.b64encode(bytes(255) + b"\x01").decode()
GENUINE_ROUNDS = 60

every = pytest.mark.parametrize("name", sorted(REGISTRY))


def keyed_with(key: bytes, body: bytes) -> str:
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def every_header(signature: str) -> dict[str, str]:
    """Each header in which any provider proves itself, with one signature."""
    return {
        "signature": signature,
        "x-signature": signature,
        "x-mailersend-signature": signature,
        "mailtrap-signature": signature,
        "x-mandrill-signature": signature,
        "x-postal-signature": signature,
        "x-postal-signature-256": signature,
        "x-sesmetric-timestamp": STAMP,
        "x-sesmetric-signature": signature,
        "x-twilio-email-event-webhook-timestamp": STAMP,
        "x-twilio-email-event-webhook-signature": signature,
        "x-mailwebhook-signature": f"t={STAMP},kid=k1,v1={signature}",
        "x-idempotency-key": "k",
        "webhook-id": "m",
        "webhook-timestamp": STAMP,
        "webhook-signature": f"v1,{signature} v1a,{signature}",
        "svix-id": "m",
        "svix-timestamp": STAMP,
        "svix-signature": f"v1,{signature} v1a,{signature}",
        "authorization": f"Bearer {signature}",
        "x-amz-sns-message-type": "Notification",
        "x-amz-sns-message-id": "m",
    }


def header_sets(body: bytes) -> dict[str, Mapping[str, str]]:
    """Nineteen ways to pretend."""
    empty_key = base64.b64encode(hmac.digest(b"", b"m." + STAMP.encode() + b"." + body, "sha256")).decode()
    stamped = base64.b64encode(hmac.digest(b"", STAMP.encode() + b"." + body, "sha256")).decode()
    return {
        "nothing": {},
        "empty": dict.fromkeys(every_header(""), ""),
        "empty signatures": every_header(""),
        "spaces": every_header(" "),
        "zero digest": every_header(ZERO),
        "zero hex": every_header("0" * 64),
        "zero sha1": every_header(base64.b64encode(bytes(20)).decode()),
        "zero ECDSA": every_header(ZERO_ECDSA),
        "ECDSA of the order": every_header(ORDER_ECDSA),
        "zero Ed25519": every_header(ZERO_ED25519),
        "zero RSA": every_header(ZERO_RSA),
        "one RSA": every_header(ONE_RSA),
        "digest of nothing": every_header(EMPTY_SHA256),
        "digest of the body": every_header(hashlib.sha256(body).hexdigest()),
        "empty key in hex": every_header(keyed_with(b"", body)),
        "empty key in base64": every_header(empty_key),
        "empty key with a stamp": {
            **every_header(stamped),
            "x-sesmetric-signature": keyed_with(b"", STAMP.encode() + b"." + body),
        },
        "credentials of nothing": {**every_header(""), "authorization": "Basic Og=="},
        "credentials": {**every_header("x"), "authorization": "Basic bWFpbGZvbGQ6bWFpbGZvbGQ="},
    }


def bodies(name: str) -> dict[str, bytes]:
    """What carries its proof in itself, and what carries none."""
    sample = sampler(name).body([next(iter(sampler(name).SAMPLES.values()))])
    mailgun = {"timestamp": STAMP, "token": "t", "signature": keyed_with(b"", f"{STAMP}t".encode())}
    sns = {
        "Type": "Notification",
        "MessageId": "m",
        "TopicArn": sampler("ses").make_keys().secret if name == "ses" else "arn:aws:sns:eu-west-1:1:t",
        "Message": "{}",
        "Timestamp": NOW.isoformat(),
        "SignatureVersion": "2",
        "Signature": ZERO_RSA,
        "SigningCertURL": "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-" + "0" * 32 + ".pem",
    }
    auth = b'{"auth":"","events_by_user":[]}'
    return {
        "empty": b"",
        "an empty object": b"{}",
        "a sample": sample,
        "MD5 of nothing": json.dumps({"auth": EMPTY_MD5, "events_by_user": []}).encode(),
        "MD5 without a key": auth.replace(b'""', b'"' + hashlib.md5(auth).hexdigest().encode() + b'"'),
        "Mailgun's with an empty key": json.dumps({"signature": mailgun, "event-data": {"event": "opened"}}).encode(),
        "Mailgun's form": f"timestamp={STAMP}&token=t&signature={mailgun['signature']}&event=opened".encode(),
        "SNS without a signature": json.dumps(sns).encode(),
    }


def let_in(endpoint: Endpoint, requests: Iterator[tuple[str, bytes, Mapping[str, str]]]) -> list[str]:
    """Return which of some requests were answered 2xx or left something on the queue."""
    found = []
    for label, body, headers in requests:
        answer = endpoint.post(body, headers)
        if answer.status < 400 or endpoint.sqs.bodies:
            found.append(label)
            endpoint.sqs.bodies.clear()
    return found


def pretended(name: str) -> Iterator[tuple[str, bytes, Mapping[str, str]]]:
    for body_label, body in bodies(name).items():
        for label, headers in header_sets(body).items():
            yield f"{label}, {body_label}", body, headers


def believe_all(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace a provider's check by one that accepts everything."""

    def verify(request: Request, source: Source, secrets: Any) -> Proof:
        return prove_credential(secrets=["bearer:x"], headers={"authorization": "Bearer x"})

    careless = replace(REGISTRY[name], verify=verify, certificate_url=None, confirm_url=None)
    monkeypatch.setitem(REGISTRY, name, careless)


@every
def test_no_source_lets_a_stranger_in(name: str) -> None:
    endpoint = Endpoint(name)

    assert let_in(endpoint, pretended(name)) == []
    assert endpoint.fetcher.confirmed == []


@every
def test_no_source_of_several_or_broken_secrets_does_either(name: str) -> None:
    keys = [sampler(name).make_keys().secret for _ in range(2)]

    broken = ("basic:", "basic::", "bearer:", "bearer: ", "header:", "header::", "header:x:", "header:signature:", ":")
    for secrets in (keys, ["whsec_", *keys], *([secret] for secret in broken)):
        assert let_in(Endpoint(name, secrets=secrets), pretended(name)) == []


@every
@pytest.mark.parametrize("listed", [[], [""], ["", ""], "", "x", None, {}, [None], [[]], [5]], ids=repr)
def test_a_list_without_a_secret_lets_nobody_in(name: str, listed: Any) -> None:
    endpoint = Endpoint(name)
    endpoint._door.secrets._client.secret = {"main": listed}  # type: ignore[attr-defined]
    body, headers = endpoint.sign(endpoint.sampler.body([next(iter(endpoint.sampler.SAMPLES.values()))]))

    assert let_in(endpoint, iter([("genuine", body, headers)])) == []
    assert let_in(endpoint, pretended(name)) == []


@every
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "post", ""])
def test_no_method_but_post_lets_anything_in(name: str, method: str) -> None:
    endpoint = Endpoint(name)
    documented = {("mandrill", "HEAD"), ("unisender", "GET")}

    statuses = {endpoint.post(body, headers, method=method).status for _, body, headers in pretended(name)}
    body, headers = endpoint.sign(endpoint.sampler.body([next(iter(endpoint.sampler.SAMPLES.values()))]))
    statuses.add(endpoint.post(body, headers, method=method).status)

    assert statuses == ({200} if (name, method) in documented else {405})
    assert endpoint.sqs.bodies == []


def test_the_documented_probes_are_answered_and_not_read() -> None:
    mandrill, unisender, mailersend = Endpoint("mandrill"), Endpoint("unisender"), Endpoint("mailersend")
    signature = keyed_with(PUBLIC_TEST_SECRET.encode(), b"{}")

    answers = [
        mandrill.post(b"", {}, method="HEAD"),
        mandrill.post(b"mandrill_events=[]", {}),
        mandrill.post(b"mandrill_events=%5B%5D", {}),
        unisender.post(b"", {}, method="GET"),
        mailersend.post(b"{}", {"Signature": signature}),
    ]

    assert {(answer.status, answer.body["events"]) for answer in answers} == {(200, 0)}
    assert [*mandrill.sqs.bodies, *unisender.sqs.bodies, *mailersend.sqs.bodies] == []


@every
def test_the_table_would_find_a_source_that_believes_everybody(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    believe_all(name, monkeypatch)

    assert let_in(Endpoint(name), pretended(name)) != []


Change = Callable[[Random, bytes, dict[str, str]], tuple[bytes, dict[str, str]]]


def doubled_header(rng: Random, body: bytes, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """As API Gateway joins a header that came twice, with another value before or behind the genuine one."""
    name = rng.choice(sorted(headers))
    forged = headers[name][:-4] + "AAAA"
    return body + b" ", {**headers, name: ",".join(rng.sample([headers[name], forged], 2))}


def moved_bytes(rng: Random, body: bytes, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """Move bytes from a header to the body or back, so that their sum stays the same."""
    name, count = rng.choice(sorted(headers)), rng.randint(1, 8)
    if rng.random() < 0.5:
        return headers[name][-count:].encode() + body, {**headers, name: headers[name][:-count]}
    return body[count:], {**headers, name: headers[name] + body[:count].decode("latin-1")}


def truncated(rng: Random, body: bytes, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """Cut the body, or every header that proves something, somewhere."""
    if rng.random() < 0.5:
        return body[: rng.randrange(len(body))], headers
    return body + b" ", {name: value[: rng.randrange(len(value))] for name, value in headers.items() if value}


def other_body(rng: Random, body: bytes, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """Change one byte of the body."""
    place = rng.randrange(len(body))
    return body[:place] + bytes([body[place] ^ (1 << rng.randrange(8))]) + body[place + 1 :], headers


def other_algorithm(rng: Random, body: bytes, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """Say another version or scheme, or send the signature under another provider's header."""
    value = rng.choice(sorted(headers.values()))
    swapped = value.replace("v1a,", "v1,") if "v1a," in value else value.replace("v1,", "v1a,").replace("v1=", "v0=")
    body = body.replace(b'"SignatureVersion": "2"', b'"SignatureVersion": "1"')
    others = every_header(value.split(",")[-1].split("=", 1)[-1])
    changed = {name: swapped if text == value else text for name, text in headers.items()}
    return body + b" ", {**others, **changed} if rng.random() < 0.5 else changed


def other_case(rng: Random, body: bytes, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """Write a header's value in the other case, over another body."""
    name = rng.choice(sorted(headers))
    return body + b"\n", {**headers, name: headers[name].swapcase()}


CHANGES: tuple[Change, ...] = (doubled_header, moved_bytes, truncated, other_body, other_algorithm, other_case)
#: A credential proves any body, and Mailgun's signature covers no event: a changed body is as genuine as before.
BODY_NOT_SIGNED = {"postmark", "brevo", "sparkpost", "mailjet", "mailgun"}


def changed_requests(name: str, endpoint: Endpoint) -> Iterator[tuple[str, bytes, Mapping[str, str]]]:
    """Genuine requests of which something that is signed, or the signature, was changed."""
    rng = Random(name)
    samples = [dict(raw) for raw in sampler(name).SAMPLES.values()]
    for round_ in range(GENUINE_ROUNDS):
        body, headers = endpoint.sign(endpoint.sampler.body([rng.choice(samples)]))
        headers = {header: value for header, value in headers.items() if header.lower() not in UNSIGNED}
        for change in CHANGES:
            with contextlib.suppress(ValueError, IndexError):
                changed, others = change(rng, body, dict(headers))
                if not _as_genuine(name, (body, headers), (changed, others)):
                    yield f"{change.__name__} {round_}", changed, others


#: Headers that prove nothing, so that to change them changes nothing.
UNSIGNED = {"content-type", "x-pm-webhook-trace-id", "x-messagesystems-batch-id", "idempotency-key"}


def _as_genuine(name: str, before: tuple[bytes, dict[str, str]], after: tuple[bytes, dict[str, str]]) -> bool:
    """Whether everything that the provider signs is as it was."""
    same_headers = {key.lower(): value for key, value in before[1].items()}.items() <= {
        key.lower(): value for key, value in after[1].items()
    }.items()
    if not same_headers:
        return False
    if name == "mailgun":
        # Hex has two cases.
        return str(_part(before[0], "signature")).lower() == str(_part(after[0], "signature")).lower()
    if name == "ses":
        # SNS signs decoded values; spaces, and fields that it does not sign, may change.
        return _signed_by_sns(before[0]) == _signed_by_sns(after[0])
    return before[0] == after[0] or name in BODY_NOT_SIGNED


def _part(body: bytes, field: str) -> Any:
    with contextlib.suppress(ValueError, AttributeError, TypeError):
        return json.loads(body).get(field)
    return body


def _signed_by_sns(body: bytes) -> list[Any]:
    fields = ("Type", "MessageId", "TopicArn", "Message", "Timestamp", "Signature", "SignatureVersion")
    return [_part(body, field) for field in (*fields, "Subject", "SigningCertURL")]


@every
def test_a_genuine_request_that_was_changed_is_refused(name: str) -> None:
    endpoint = Endpoint(name)

    assert let_in(endpoint, changed_requests(name, endpoint)) == []


@every
def test_the_changes_would_find_a_source_that_believes_everybody(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    believe_all(name, monkeypatch)
    endpoint = Endpoint(name)

    assert let_in(endpoint, changed_requests(name, endpoint)) != []


@every
def test_what_is_changed_was_genuine(name: str) -> None:
    endpoint = Endpoint(name)

    for raw in sampler(name).SAMPLES.values():
        assert endpoint.post_signed(endpoint.sampler.body([dict(raw)])).status == 200
