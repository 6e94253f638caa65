"""Mandrill: every row of its tables, calls that come before there is a key, and a form that is signed decoded."""

import base64
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event
from mailfold.providers.mandrill import SYNC, TYPES
from samples import mandrill as sampler
from samples.mandrill import SAMPLES
from tests.support.endpoint import Endpoint, meaning, read

MEANINGS = {
    "send": "processed",
    "delivered": "delivered",
    "deferral": "deferred",
    "hard_bounce": "bounced/hard suppress",
    "soft_bounce": "bounced/soft",
    "open": "opened",
    "click": "clicked",
    "spam": "complained suppress",
    "unsub": "unsubscribed suppress",
    "reject": "dropped suppress",
    "without an outer id": "processed",
    "blacklist add": "dropped suppress",
    "blacklist change": "dropped suppress",
    "blacklist remove": "resubscribed lift",
    "whitelist add": "other",
    "unknown": "other",
}


def changed(name: str, **change: Any) -> Event:
    return read("mandrill", {**SAMPLES[name], **change})


def signature_of(url: str, form: dict[str, str], key: str) -> str:
    message = url + "".join(name + form[name] for name in sorted(form))
    return base64.b64encode(hmac.digest(key.encode(), message.encode(), hashlib.sha1)).decode()


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint("mandrill")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_means_what_the_table_says(name: str) -> None:
    assert meaning(changed(name)) == MEANINGS[name]


def test_each_row_of_the_tables_has_a_sample() -> None:
    assert TYPES.keys() <= {raw.get("event") for raw in SAMPLES.values()}
    assert SYNC.keys() <= {f"{raw.get('type')}/{raw.get('action')}" for raw in SAMPLES.values()}


def test_a_change_of_the_deny_list_is_about_an_address_and_no_message() -> None:
    event = changed("blacklist add")

    assert (event.recipient, event.message_id, event.kind) == ("bob@example.com", None, "blacklist/add")
    assert event.reason == "550 5.1.1"


def test_the_message_is_named_outside_or_inside() -> None:
    assert changed("send").message_id == changed("without an outer id").message_id == SAMPLES["send"]["_id"]


@pytest.mark.parametrize(
    "change",
    [
        {"ts": 1767225606},
        {"url": "https://example.com/b"},
        {"ip": "192.0.2.2"},
        {"user_agent": "Other/1.0"},
        {"_id": "another"},
        {"msg": {**SAMPLES["click"]["msg"], "diag": "451"}},
        {"msg": {**SAMPLES["click"]["msg"], "email": "bob@example.com"}},
    ],
    ids=str,
)
def test_whatever_differs_makes_another_event(change: dict[str, Any]) -> None:
    assert changed("click", **change).event_id != changed("click").event_id


@pytest.mark.parametrize("gone", ["event", "ts"])
def test_an_event_without_what_makes_it_one_is_unparseable(gone: str) -> None:
    with pytest.raises(UnparseableEvent):
        changed("click", **{gone: None})


def test_the_head_request_at_creation_is_answered_before_there_is_a_key() -> None:
    endpoint = Endpoint("mandrill", secrets=["a key of another webhook"], options={})

    answer = endpoint.post(b"", {}, method="HEAD")

    assert (answer.status, endpoint.sqs.bodies) == (200, [])


@pytest.mark.parametrize("body", [b"mandrill_events=%5B%5D", b"mandrill_events=[]"])
def test_the_empty_batch_at_creation_is_answered_before_there_is_a_key(body: bytes) -> None:
    endpoint = Endpoint("mandrill", secrets=["a key of another webhook"])

    answer = endpoint.post(body, {"X-Mandrill-Signature": "whatever"})

    assert (answer.status, endpoint.sqs.bodies) == (200, [])


@pytest.mark.parametrize("body", [b"mandrill_events=%5B%7B%7D%5D", b"mandrill_events=%5B%5D&x=1", b""], ids=ascii)
def test_nothing_but_the_empty_batch_passes_without_a_signature(endpoint: Endpoint, body: bytes) -> None:
    assert endpoint.post(body, {}).status == 401


def test_only_head_and_post_are_answered(endpoint: Endpoint) -> None:
    assert endpoint.post(b"", {}, method="GET").status == 405


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org/webhooks/mandrill/",
        "https://hooks.example.org/webhooks/mandrill?a=1&b=2",
        "https://user:pass@hooks.example.org/webhooks/mandrill",
        "http://hooks.example.org/webhooks/mandrill",
    ],
)
def test_the_url_is_signed_exactly_as_it_is_configured(url: str) -> None:
    endpoint = Endpoint("mandrill", options={"url": url})
    form = {"mandrill_events": json.dumps([SAMPLES["click"]])}
    body, key = urlencode(form).encode(), endpoint.keys.signer

    assert endpoint.post(body, {"X-Mandrill-Signature": signature_of(url, form, key)}).status == 200
    other = signature_of(str(sampler.OPTIONS["url"]), form, key)
    assert endpoint.post(body, {"X-Mandrill-Signature": other}).status == 401


@pytest.mark.parametrize("options", [{}, {"url": None}, {"url": 5}], ids=str)
def test_without_the_url_nobody_is_verified(options: dict[str, Any]) -> None:
    endpoint = Endpoint("mandrill", options=options)

    assert endpoint.post_samples("click").status == 401


@pytest.mark.parametrize("text", ["a b", "a+b", "a/b", "a\\/b", "50%", "é🙂", "a&b=c;d", 'x"y'], ids=ascii)
@pytest.mark.parametrize("encode", [quote, lambda value: quote(value, safe="/:"), lambda v: urlencode({"": v})[1:]])
def test_the_decoded_value_is_what_is_signed_however_it_was_encoded(endpoint: Endpoint, text: str, encode: Any) -> None:
    events = json.dumps([{**SAMPLES["click"], "url": text}], ensure_ascii=False).replace("/", "\\/")
    signature = signature_of(str(sampler.OPTIONS["url"]), {"mandrill_events": events}, endpoint.keys.signer)

    answer = endpoint.post(f"mandrill_events={encode(events)}".encode(), {"X-Mandrill-Signature": signature})

    assert answer.status == 200
    assert endpoint.queued[0]["url"] == json.loads(events)[0]["url"]


def test_the_fields_of_the_form_are_signed_in_their_order_of_name(endpoint: Endpoint) -> None:
    form = {"zeta": "1", "mandrill_events": json.dumps([SAMPLES["open"]]), "alpha": "2"}
    signature = signature_of(str(sampler.OPTIONS["url"]), form, endpoint.keys.signer)

    assert endpoint.post(urlencode(form).encode(), {"X-Mandrill-Signature": signature}).status == 200


def test_the_key_for_trying_out_is_not_accepted_unless_it_is_a_secret_of_the_source(endpoint: Endpoint) -> None:
    form = {"mandrill_events": json.dumps([SAMPLES["open"]])}
    signature = signature_of(str(sampler.OPTIONS["url"]), form, "test-webhook")

    assert endpoint.post(urlencode(form).encode(), {"X-Mandrill-Signature": signature}).status == 401


@pytest.mark.parametrize("events", ["", "5", "[5]", "{", "null"])
def test_a_genuine_form_without_an_array_of_events_is_malformed(endpoint: Endpoint, events: str) -> None:
    form = {"mandrill_events": events}
    signature = signature_of(str(sampler.OPTIONS["url"]), form, endpoint.keys.signer)

    assert endpoint.post(urlencode(form).encode(), {"X-Mandrill-Signature": signature}).status == 400


def test_a_genuine_form_of_other_fields_is_malformed(endpoint: Endpoint) -> None:
    signature = signature_of(str(sampler.OPTIONS["url"]), {"a": "1"}, endpoint.keys.signer)

    assert endpoint.post(b"a=1", {"X-Mandrill-Signature": signature}).status == 400
