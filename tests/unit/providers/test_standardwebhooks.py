"""Standard Webhooks: several signatures in one header, two kinds of keys, and an id that only the header has."""

import json
from typing import Any

import pytest

from mailfold.errors import VerificationError
from mailfold.events import Event
from mailfold.standard_webhook import prove_standard_webhook
from samples import standardwebhooks as sampler
from samples.standardwebhooks import SAMPLES
from tests.support.endpoint import NOW, Endpoint, meaning, read

MEANINGS = {
    "mapped": "bounced/hard suppress",
    "mapped to a plain type": "delivered",
    "one of our own words": "opened",
    "unknown": "other",
}

BODY = sampler.body([SAMPLES["mapped"]])
DECOYS = [
    "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=",
    "v2,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=",
    "v1a,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=",
    "v1",
    "v1,",
    "v1,,",
    "v1,a,b",
    ",",
    "",
    "é",
    "v1,é",
    "\ud800",
    "v1,\ud800",
]


def changed(name: str, **headers: str) -> Event:
    return read("standardwebhooks", SAMPLES[name], headers=headers or {"webhook-id": "msg_1"})


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("standardwebhooks")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_its_settings_say(name: str) -> None:
    assert meaning(changed(name)) == MEANINGS[name]


def test_the_fields_are_read_where_the_specification_advises() -> None:
    event = changed("mapped")

    assert event.event_id == "standardwebhooks:main:msg_1"
    assert (event.recipient, event.message_id, event.reason) == ("ann@example.com", "m-1", "550 5.1.1")


@pytest.mark.parametrize("decoy", DECOYS, ids=ascii)
@pytest.mark.parametrize("order", ["{good} {decoy}", "{decoy} {good}", "{decoy} {good} {decoy}"])
def test_one_good_signature_among_others_is_enough(endpoint: Endpoint, order: str, decoy: str) -> None:
    body, headers = endpoint.sign(BODY)
    headers["webhook-signature"] = order.format(good=headers["webhook-signature"], decoy=decoy)

    assert endpoint.post(body, headers).status == 200


@pytest.mark.parametrize("decoy", DECOYS, ids=ascii)
def test_decoys_alone_are_refused(endpoint: Endpoint, decoy: str) -> None:
    body, headers = endpoint.sign(BODY)

    assert endpoint.post(body, {**headers, "webhook-signature": f"{decoy} {decoy}"}).status == 401


@pytest.mark.parametrize("version", ["v0", "v2", "V1", "v1a", ""])
def test_a_good_signature_under_another_version_is_none(endpoint: Endpoint, version: str) -> None:
    body, headers = endpoint.sign(BODY)
    _, _, signature = headers["webhook-signature"].partition(",")

    assert endpoint.post(body, {**headers, "webhook-signature": f"{version},{signature}"}).status == 401


def test_an_asymmetric_key_proves_v1a() -> None:
    endpoint = Endpoint("standardwebhooks", keys=sampler.make_key_pair())
    body, headers = endpoint.sign(BODY)

    assert headers["webhook-signature"].startswith("v1a,")
    assert endpoint.post(body, headers).status == 200
    assert endpoint.post(body + b" ", headers).status == 401


def test_a_public_key_is_no_secret_to_sign_v1_with() -> None:
    pair = sampler.make_key_pair()
    forger = Endpoint("standardwebhooks", keys=sampler.Keys(secret="", signer=pair.secret.replace("whpk_", "whsec_")))
    body, headers = forger.sign(BODY)

    assert Endpoint("standardwebhooks", keys=pair).post(body, headers).status == 401


def test_both_kinds_of_keys_overlap_while_one_replaces_the_other() -> None:
    old, new = sampler.make_keys(), sampler.make_key_pair()

    for keys in (old, new):
        endpoint = Endpoint("standardwebhooks", keys=keys, secrets=[new.secret, old.secret])
        assert endpoint.post_signed(BODY).status == 200


def test_the_padding_of_a_secret_is_optional() -> None:
    keys = sampler.make_keys()
    assert keys.secret.endswith("=")

    assert Endpoint("standardwebhooks", keys=keys, secrets=[keys.secret.rstrip("=")]).post_signed(BODY).status == 200


@pytest.mark.parametrize("secret", ["whsec_", "whsec_!", "whpk_", "whpk_AAAA", "!", "\ud800"], ids=ascii)
def test_a_secret_that_was_pasted_wrongly_proves_nothing(secret: str) -> None:
    endpoint = Endpoint("standardwebhooks", keys=sampler.Keys(secret="", signer="whsec_"), secrets=[secret])
    body, headers = endpoint.sign(BODY)

    # An empty key would make the sender with an empty key genuine.
    assert endpoint.post(body, headers).status == 503
    with pytest.raises(VerificationError):
        prove_standard_webhook(
            secrets=[secret],
            message_id=headers["webhook-id"],
            stamp=headers["webhook-timestamp"],
            body=body,
            signatures=headers["webhook-signature"],
        )


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", ["", " ", "a.b", "\ud800", "é", "1e9", "-1"], ids=ascii)
def test_a_malformed_header_is_401(endpoint: Endpoint, name: str, value: str) -> None:
    body, headers = endpoint.sign(BODY)

    assert endpoint.post(body, {**headers, name: value}).status == 401


def test_id_and_stamp_are_signed(endpoint: Endpoint) -> None:
    body, headers = endpoint.sign(BODY)
    stamp = str(int(NOW.timestamp()) + 1)

    assert endpoint.post(body, {**headers, "webhook-id": "msg_2"}).status == 401
    assert endpoint.post(body, {**headers, "webhook-timestamp": stamp}).status == 401


def test_bytes_that_are_no_text_are_signed_like_any_others(endpoint: Endpoint) -> None:
    assert endpoint.post_signed(b"\xff\xfe").status == 400


@pytest.mark.parametrize("options", [{"events": "/data"}, {"events": "/data", "id": "/n"}], ids=str)
def test_the_events_of_one_request_share_its_id_and_are_still_two(options: dict[str, Any]) -> None:
    endpoint = Endpoint("standardwebhooks", options=options)
    body = json.dumps({"data": [{"type": "opened", "n": 1}, {"type": "opened", "n": 2}]}).encode()

    assert endpoint.post_signed(body).status == 200
    ids = {endpoint.read(raw).event_id for raw in endpoint.queued}
    assert len(ids) == 2
    assert ids == {endpoint.read(raw).event_id for raw in endpoint.queued}


def test_several_events_where_no_settings_announce_them_are_malformed(endpoint: Endpoint) -> None:
    assert endpoint.post_signed(b'[{"type":"opened"},{"type":"clicked"}]').status == 400
    assert endpoint.post_signed(b'[{"type":"opened"}]').status == 200
