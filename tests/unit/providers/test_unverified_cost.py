"""What a request costs before anything is proven: so many hashes for each secret, whatever else the sender writes.

Calls and bytes are counted, not time.
"""

import base64
import json
from collections.abc import Iterator
from random import Random

import pytest

from mailfold import request as requests
from mailfold.decoding import LONGEST_HEADER, MOST_SIGNATURES
from mailfold.errors import VerificationError
from mailfold.providers import REGISTRY
from mailfold.signatures import prove_any_hmac, prove_digest, prove_ecdsa, prove_hmac, prove_rsa
from samples import sampler
from samples.standardwebhooks import make_key_pair
from tests.support.endpoint import NOW, Endpoint
from tests.support.meter import Meter

SECRETS = 2
COUNTS = (1, 2, 10, 11, 200, 2000)
SEPARATORS = (" ", ",", ", ", ";", "&")
PAD = 100_000
STANDARD = {"resend": "svix", "standardwebhooks": "webhook"}
TOPICS = ("arn:aws:sns:eu-west-1:210987654321:ses-events", "arn:aws:sns:eu-west-1:210987654321:other")
#: Providers whose signature stands in the body.
IN_BODY = ("mailgun", "unisender", "ses")

every = pytest.mark.parametrize("name", sorted(REGISTRY))


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Meter:
    return Meter(monkeypatch)


def strange_endpoint(name: str) -> Endpoint:
    """A door whose two secrets are none that the sender signs with."""
    secrets = TOPICS if name == "ses" else [sampler(name).make_keys().secret for _ in range(SECRETS)]
    return Endpoint(name, secrets=secrets)


def forged(name: str, endpoint: Endpoint) -> tuple[bytes, dict[str, str]]:
    """A well-formed request of a stranger, with a body that is expensive to hash."""
    raw = {**next(iter(sampler(name).SAMPLES.values())), "pad": "x" * PAD}
    body, headers = endpoint.sign(endpoint.sampler.body([raw]))
    if name == "ses":
        message = json.loads(body)
        body = json.dumps({**message, "Signature": base64.b64encode(bytes(256)).decode()}).encode()
    return body, headers


def tokens(version: str, size: int, count: int) -> str:
    """So many signatures of the right form, all different."""
    rng = Random(count)
    return " ".join(f"{version},{base64.b64encode(rng.randbytes(size)).decode()}" for _ in range(count))


def crowded(headers: dict[str, str], count: int) -> Iterator[dict[str, str]]:
    """Every header in turn holds its value many times."""
    for header, value in headers.items():
        for separator in SEPARATORS:
            yield {**headers, header: separator.join([value] * count)}


@every
def test_a_forged_request_costs_one_hash_for_each_secret(name: str, meter: Meter) -> None:
    endpoint = strange_endpoint(name)
    body, headers = forged(name, endpoint)
    meter.read()

    assert endpoint.post(body, headers).status == 401

    calls, size = meter.read()
    # A public key hashes once and then checks per key; MailerSend tries its published test secret first.
    assert calls <= SECRETS + 1
    assert size <= (SECRETS + 1) * (len(body) + 200)


@every
@pytest.mark.parametrize("count", COUNTS)
def test_no_header_multiplies_the_cost(name: str, count: int, meter: Meter) -> None:
    endpoint = strange_endpoint(name)
    body, headers = forged(name, endpoint)
    meter.read()
    endpoint.post(body, headers)
    alone = meter.read()

    for more in crowded(headers, count):
        answer = endpoint.post(body, more)
        calls, size = meter.read()

        assert (answer.status, endpoint.sqs.bodies) == (401, [])
        assert calls <= alone[0]
        assert size <= alone[1] + SECRETS * LONGEST_HEADER


@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("version", "size"), [("v1", 32), ("v1", 0), ("v1", 31), ("v1", 64), ("v1a", 64), ("v2", 32)])
def test_each_secret_hashes_the_body_once_for_all_signatures(
    name: str, count: int, version: str, size: int, meter: Meter
) -> None:
    endpoint = strange_endpoint(name)
    body, headers = forged(name, endpoint)
    header = f"{STANDARD[name]}-signature"
    meter.read()

    assert endpoint.post(body, {**headers, header: tokens(version, size, count)}).status == 401

    calls, _ = meter.read()
    well_formed = (version, size) == ("v1", 32) and count <= MOST_SIGNATURES
    assert calls == (SECRETS if well_formed else 0)


@pytest.mark.parametrize("count", COUNTS)
def test_ed25519_which_cannot_share_a_hash_is_tried_for_two_signatures_at_most(count: int, meter: Meter) -> None:
    name = "standardwebhooks"  # the only one that takes public keys of this kind
    endpoint = Endpoint(name, secrets=[make_key_pair().secret for _ in range(SECRETS)])
    body, headers = forged(name, endpoint)
    meter.read()

    headers[f"{STANDARD[name]}-signature"] = tokens("v1a", 64, count)
    assert endpoint.post(body, headers).status == 401

    calls, _ = meter.read()
    assert calls == (SECRETS * count if count <= 2 else 0)


@pytest.mark.parametrize("name", STANDARD)
def test_the_last_of_ten_signatures_still_counts_and_an_eleventh_is_too_many(name: str) -> None:
    endpoint = Endpoint(name)
    header = f"{STANDARD[name]}-signature"
    body, headers = endpoint.sign(endpoint.sampler.body([next(iter(endpoint.sampler.SAMPLES.values()))]))

    crowd = {count: f"{tokens('v1', 32, count - 1)} {headers[header]}" for count in (10, 11)}

    assert endpoint.post(body, {**headers, header: crowd[11]}).status == 401
    assert endpoint.post(body, {**headers, header: crowd[10]}).status == 200


@pytest.mark.parametrize("name", IN_BODY)
@pytest.mark.parametrize("count", COUNTS)
def test_no_field_of_the_body_multiplies_the_cost(name: str, count: int, meter: Meter) -> None:
    endpoint = strange_endpoint(name)
    body, headers = forged(name, endpoint)
    meter.read()
    endpoint.post(body, headers)
    alone = meter.read()

    message = json.loads(body)
    inside = message["signature"] if name == "mailgun" else message
    for field in [field for field, value in inside.items() if isinstance(value, str)]:
        kept = inside[field]
        for longer in (kept * count, kept + "x" * count, kept[:1], ""):
            inside[field] = longer[:1_000_000]
            answer = endpoint.post(json.dumps(message).encode(), headers)
            calls, size = meter.read()

            assert (answer.status, endpoint.sqs.bodies) == (401, [])
            assert calls <= alone[0]
            assert size <= alone[1] + SECRETS * len(inside[field])
        inside[field] = kept


@pytest.mark.parametrize("more", ["parent-signature", "signatures", "token2"])
def test_mailguns_second_signature_costs_no_second_hash(more: str, meter: Meter) -> None:
    endpoint = strange_endpoint("mailgun")
    body, headers = forged("mailgun", endpoint)
    message = json.loads(body)
    message["signature"][more] = "0" * 64
    meter.read()

    assert endpoint.post(json.dumps(message).encode(), headers).status == 401
    assert meter.read()[0] == SECRETS


@pytest.mark.parametrize("length", [256, 100_000])
def test_a_token_that_mailgun_never_sends_is_not_hashed(length: int, meter: Meter) -> None:
    endpoint = strange_endpoint("mailgun")
    body, headers = forged("mailgun", endpoint)
    message = json.loads(body)
    message["signature"]["token"] = "t" * length
    meter.read()

    assert endpoint.post(json.dumps(message).encode(), headers).status == 401
    assert meter.read() == (0, 0)


def test_a_form_is_read_only_under_a_signature_of_the_right_form(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    endpoint = strange_endpoint("mandrill")
    body, headers = forged("mandrill", endpoint)
    monkeypatch.setattr("mailfold.providers.mandrill.parse_qsl", lambda *_, **__: read.append(1) or [("a", "b")])

    for signature in ("", "AAAA", "=" * 28, headers["X-Mandrill-Signature"] * 2):
        assert endpoint.post(body, {**headers, "X-Mandrill-Signature": signature}).status == 401
    assert read == []

    endpoint.post(body, headers)
    assert read == [1]


@pytest.mark.parametrize("auth", ["", "a", "0" * 31, "0" * 33, "G" * 32, "A" * 32, "é" * 32, "0" * 1000], ids=ascii)
def test_what_is_no_digest_is_not_even_looked_for(auth: str, meter: Meter) -> None:
    body = json.dumps({"auth": auth}, ensure_ascii=False).encode()

    with pytest.raises(VerificationError):
        prove_digest(secrets=["a", "b"], body=body, given=auth)
    assert meter.read() == (0, 0)


@pytest.mark.parametrize("signature", ["", "0", "AAAA", "A" * 63, "0" * 62, "0" * 66, "zz" * 32, "é" * 64], ids=ascii)
def test_an_hmac_of_another_length_is_not_compared_with_anything(signature: str, meter: Meter) -> None:
    with pytest.raises(VerificationError):
        prove_hmac(secrets=["a", "b"], message=(b"x",), signature=signature)
    assert meter.read() == (0, 0)


def test_several_hmacs_share_one_hash_for_each_secret(meter: Meter) -> None:
    with pytest.raises(VerificationError):
        prove_any_hmac(secrets=["a", "b", "c"], message=(b"x",) * 50, signatures=["0" * 64] * MOST_SIGNATURES)
    assert meter.read() == (3, 150)

    with pytest.raises(VerificationError):
        prove_any_hmac(secrets=["a"], message=(b"x",), signatures=["0" * 64] * (MOST_SIGNATURES + 1))
    assert meter.read() == (0, 0)


@pytest.mark.parametrize("signature", ["", "AAAA", "MAYCAQACAQA=", "A" * 96, "A" * 4000, "MEU" * 40])
def test_what_is_no_ecdsa_signature_is_not_hashed(signature: str, meter: Meter) -> None:
    keys = [sampler("sendgrid").make_keys().secret for _ in range(SECRETS)]

    with pytest.raises(VerificationError):
        prove_ecdsa(public_keys=keys, message=(b"x",), signature=signature)
    assert meter.read() == (0, 0)


@pytest.mark.parametrize("size", [0, 1, 128, 255, 257, 512])
def test_a_signature_of_another_length_than_the_key_is_not_hashed(size: int, meter: Meter) -> None:
    keys = [sampler("postal").make_keys().secret for _ in range(SECRETS)]
    signature = base64.b64encode(bytes(size)).decode()

    with pytest.raises(VerificationError):
        prove_rsa(public_keys=keys, message=(b"x",), signature=signature, algorithm="sha256")
    assert meter.read() == (0, 0)


@pytest.mark.parametrize("name", ["sendgrid", "postal"])
def test_public_keys_share_one_hash_of_the_body(name: str, meter: Meter) -> None:
    endpoint = strange_endpoint(name)
    body, headers = forged(name, endpoint)
    meter.read()

    assert endpoint.post(body, headers).status == 401

    _, size = meter.read()
    assert size < len(body) + 200


@every
@pytest.mark.parametrize("method", ["POST", "GET", "HEAD"])
def test_headers_larger_than_any_front_door_lets_through_are_refused_unread(
    name: str, method: str, meter: Meter
) -> None:
    endpoint = strange_endpoint(name)
    body, headers = forged(name, endpoint)
    meter.read()
    spread = {f"x-{number}": "v" * 100 for number in range(requests.MOST_HEADER_CHARACTERS // 100)}

    answer = endpoint.post(body, {**headers, **spread}, method=method)

    assert (answer.status, meter.read()) == (401, (0, 0))


@every
def test_genuine_headers_fit_with_what_proxies_add(name: str) -> None:
    endpoint = Endpoint(name)
    body, headers = endpoint.sign(endpoint.sampler.body([next(iter(endpoint.sampler.SAMPLES.values()))]))
    # What API Gateway takes in all.
    added = {f"x-{number}": "v" * 1000 for number in range(10)}

    assert endpoint.post(body, {**headers, **added}, received_at=NOW).status == 200


@every
def test_a_body_that_is_too_large_is_not_hashed(name: str, meter: Meter) -> None:
    endpoint = strange_endpoint(name)
    _, headers = forged(name, endpoint)
    meter.read()

    assert endpoint.post(b"x" * 4_000_001, headers).status == 413
    assert meter.read() == (0, 0)


def long_token(length: int) -> str:
    """A random credential, which a row of one character would not pass for."""
    return Random(length).randbytes(length).hex()[:length]


@pytest.mark.parametrize(("length", "status"), [(LONGEST_HEADER - 7, 200), (LONGEST_HEADER - 6, 401), (9_000, 401)])
def test_a_credential_is_compared_up_to_the_length_of_any_header_that_proves_something(
    length: int, status: int
) -> None:
    endpoint = Endpoint("brevo", secrets=[f"bearer:{long_token(length)}"])
    body = endpoint.sampler.body([next(iter(endpoint.sampler.SAMPLES.values()))])

    assert endpoint.post(body, {"authorization": f"Bearer {long_token(length)}"}).status == status


@pytest.mark.parametrize("length", [LONGEST_HEADER, LONGEST_HEADER + 1, 9_000])
def test_a_header_is_read_up_to_its_longest(length: int) -> None:
    headers = {"x-stamp": "x" * length}
    request = requests.Request(source_name="main", method="POST", headers=headers, body=b"", received_at=NOW)

    if length <= LONGEST_HEADER:
        assert request.header("x-stamp") == headers["x-stamp"]
    else:
        with pytest.raises(VerificationError):
            request.header("x-stamp")
