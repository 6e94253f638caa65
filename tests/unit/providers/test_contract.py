"""What every provider must do, run for each entry of the registry without being written again."""

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import reduce
from operator import getitem

import pytest

from mailfold import providers
from mailfold.errors import UnparseableEvent
from mailfold.events import Event, EventType
from mailfold.jsontext import loads
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.request import Source
from samples import Raw, sampler
from tests.support.desk import NOW, Desk

#: Providers that prove the sender but do not sign the body, each for its own reason.
BODY_NOT_SIGNED = {"postmark", "brevo", "sparkpost", "mailjet", "mailgun"}
#: Providers whose mapping is configured: there is no table of theirs to cover.
CONFIGURED = {"generic", "standardwebhooks", "mailwebhook"}
STAMPED = sorted(name for name in REGISTRY if hasattr(getattr(providers, name), "TOLERANCE_S"))

every = pytest.mark.parametrize("name", sorted(REGISTRY))


@pytest.fixture
def desk(name: str) -> Desk:
    return Desk(name)


#: Where the proof stands for a provider that keeps it in the body, an object of JSON.
IN_THE_BODY = {
    "mailgun": [("signature", "timestamp"), ("signature", "token"), ("signature", "signature")],
    "unisender": [("auth",)],
}


def spoilt(name: str, desk: Desk, value: str | None) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """The genuine request with each part of its proof replaced by this value, or without the part."""
    body, headers = desk.signed()
    harmless = {"content-type", "x-pm-webhook-trace-id", "x-messagesystems-batch-id", "x-idempotency-key"}
    for header in headers:
        if header.lower() not in harmless:
            others = {key: text for key, text in headers.items() if key != header}
            yield header, body, others if value is None else {**others, header: value}
    for *above, last in IN_THE_BODY.get(name, ()):
        document = json.loads(body)
        place = reduce(getitem, above, document)
        del place[last]
        if value is not None:
            place[last] = value
        yield last, json.dumps(document).encode(), headers


@every
def test_genuine_request_is_accepted_and_every_event_queued(name: str, desk: Desk) -> None:
    body, headers = desk.signed()

    answer = desk.post(body, headers)

    assert answer.status == 200
    assert desk.sqs.events() == list(desk.sampler.SAMPLES.values())[: desk.sampler.BATCH]


@every
def test_base64_body_is_the_same_request(name: str, desk: Desk) -> None:
    body, headers = desk.signed()

    answer = desk.post(body, headers, base64_body=True)

    assert (answer.status, bool(desk.sqs.bodies)) == (200, True)


@pytest.mark.parametrize("name", sorted(REGISTRY.keys() - BODY_NOT_SIGNED))
def test_one_flipped_bit_anywhere_in_the_body_is_refused(name: str, desk: Desk) -> None:
    body, headers = desk.signed()
    places = range(0, len(body), max(1, len(body) // 60))

    answers = {}
    for place in places:
        tampered = bytearray(body)
        tampered[place] ^= 1
        answers[place] = desk.post(bytes(tampered), headers, base64_body=True).status

    survivors = {place: status for place, status in answers.items() if status != 401}
    # SNS signs the decoded values, so a changed space between them is the same message.
    harmless = {place for place in survivors if name == "ses" and _same_sns(body, place)}
    assert survivors.keys() == harmless
    assert len(desk.sqs.bodies) == len(harmless)


@every
def test_another_content_is_believed_under_a_claim_of_its_own_or_the_provider_says_that_it_is_not_signed(
    name: str, desk: Desk
) -> None:
    """A credential proves any content. A signature that covers no content proves the first content alone."""
    body, headers = desk.signed()
    other = body.replace(b"xample", b"xbmple")
    assert other != body

    statuses = [desk.post(one, headers).status for one in (body, other)]
    claims = {json.loads(text)["claim_key"] for text in desk.sqs.bodies}

    shares_a_claim = statuses == [200, 200] and len(claims) == 1
    assert REGISTRY[name].signs_claim_only is shares_a_claim
    assert bool(REGISTRY[name].claim) >= shares_a_claim


@pytest.mark.parametrize("name", sorted(REGISTRY.keys() - BODY_NOT_SIGNED))
def test_no_header_that_is_not_signed_decides_which_event_it_is(name: str, desk: Desk) -> None:
    """Whoever captures a request may send it again with other headers, for as long as its signature is fresh."""
    body, headers = desk.signed()
    unsigned = {*REGISTRY[name].headers, "x-idempotency-key", "idempotency-key", "webhook-id", "svix-id", "x-id"}
    others = [{**headers, header: "another"} for header in sorted(unsigned)]
    others += [{kept: value for kept, value in headers.items() if kept.lower() != gone} for gone in sorted(unsigned)]
    assert desk.post(body, headers).status == 200

    for changed in others:
        assert desk.post(body, {kept.lower(): value for kept, value in changed.items()}).status in {200, 400, 401}

    parse = REGISTRY[name].parse
    ids = set()
    for text in desk.sqs.bodies:
        envelope = json.loads(text)
        origin = Origin(source=desk.source, received_at=NOW, headers=envelope["headers"])
        ids.add(tuple(event.event_id for raw in envelope["events"] for event in parse(raw, origin)))
    assert len(ids) == 1


def _same_sns(body: bytes, place: int) -> bool:
    """Whether only a field that SNS does not sign, or no field at all, was touched."""
    tampered = bytearray(body)
    tampered[place] ^= 1
    try:
        before, after = json.loads(body), json.loads(bytes(tampered))
    except ValueError:
        return False
    return all(before.get(field) == after.get(field) for field in ("Message", "MessageId", "Timestamp", "Type"))


@every
def test_a_request_without_any_part_of_its_proof_is_refused(name: str, desk: Desk) -> None:
    statuses = {part: desk.post(body, headers).status for part, body, headers in spoilt(name, desk, None)}

    assert set(statuses.values()) == {401}, statuses
    assert not desk.sqs.bodies


@every
@pytest.mark.parametrize(
    "value", ["", " ", "=", ",", "v1", "t=,v1=", "v1,", "\x00", "é", "🙂", "0" * 5000, "Basic", "Basic ="]
)
def test_a_malformed_part_of_the_proof_is_refused(name: str, value: str, desk: Desk) -> None:
    statuses = {part: desk.post(body, headers).status for part, body, headers in spoilt(name, desk, value)}

    assert set(statuses.values()) == {401}, statuses
    assert not desk.sqs.bodies


@every
def test_wrong_secret_is_refused(name: str) -> None:
    secrets = [Keys.secret for Keys in (sampler(name).make_keys(),)]
    desk = Desk(name, *(["arn:aws:sns:eu-west-1:999999999999:other"] if name == "ses" else secrets))
    body, headers = desk.signed()

    answer = desk.post(body, headers)

    assert (answer.status, desk.sqs.bodies) == (401, [])


@every
@pytest.mark.parametrize("newest_first", [True, False])
def test_each_of_two_rotated_secrets_is_accepted(name: str, newest_first: bool) -> None:
    other = "arn:aws:sns:eu-west-1:999999999999:other" if name == "ses" else sampler(name).make_keys().secret
    desk = Desk(name)
    ours = desk.keys.secret
    desk.manager.secret[name] = [ours, other] if newest_first else [other, ours]
    body, headers = desk.signed()

    assert desk.post(body, headers).status == 200


@pytest.mark.parametrize("name", STAMPED)
@pytest.mark.parametrize("direction", [-1, 1])
def test_stale_and_future_stamps_are_refused(name: str, direction: int, desk: Desk) -> None:
    tolerance_s = getattr(providers, name).TOLERANCE_S

    inside = desk.post(*desk.signed(at=NOW + direction * timedelta(seconds=tolerance_s - 5)))
    outside = desk.post(*desk.signed(at=NOW + direction * timedelta(seconds=tolerance_s + 5)))

    assert (inside.status, outside.status) == (200, 401)


@every
def test_full_queue_gets_the_providers_own_please_retry(name: str, desk: Desk) -> None:
    body, headers = desk.signed()
    desk.sqs.full = True

    answer = desk.post(body, headers)

    assert answer.status == (429 if name == "brevo" else 503)


@every
@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe[", b"[", b"null", b"17", b'"text"', b"[]", b"[[]]", b"{}", b'{"a":1e999}', b"a=%ff"]
)
def test_genuine_nonsense_is_never_a_server_error(name: str, body: bytes, desk: Desk) -> None:
    try:
        sealed, headers = desk.signed(body)
    except (ValueError, TypeError, KeyError, UnicodeDecodeError):
        pytest.skip("the sender itself cannot sign this body")

    assert desk.post(sealed, headers, base64_body=True).status in {200, 400, 401}


def parsed(name: str, raw: Raw, **headers: str) -> list[Event]:
    source = Source(name=name, provider=name, options=sampler(name).OPTIONS)
    carried = {header: f"id-of-{json.dumps(raw, sort_keys=True)}" for header in REGISTRY[name].headers}
    return REGISTRY[name].parse(raw, Origin(source=source, received_at=NOW, headers={**carried, **headers}))


@every
def test_the_same_event_has_the_same_id_and_different_events_different_ones(name: str) -> None:
    samples = sampler(name).SAMPLES

    ids = {label: [event.event_id for event in parsed(name, raw)] for label, raw in samples.items()}
    again = {
        label: [event.event_id for event in parsed(name, json.loads(json.dumps(raw)))] for label, raw in samples.items()
    }

    assert ids == again
    flat = [event_id for listed in ids.values() for event_id in listed]
    assert len(flat) == len(set(flat))


@every
def test_unknown_type_becomes_other_and_unknown_fields_are_kept(name: str) -> None:
    raw = {**sampler(name).SAMPLES["unknown"], "never_heard_of": {"a": [1, None, "é"]}}

    events = parsed(name, raw)

    assert {event.type for event in events} == {EventType.OTHER}
    assert all(event.raw == raw for event in events)


@every
def test_every_type_in_the_table_has_a_sample(name: str) -> None:
    module = getattr(providers, name)
    table = getattr(module, "TYPES", None) or getattr(module, "RECORDS", {})

    seen = {event.kind.split("/")[0] for raw in sampler(name).SAMPLES.values() for event in parsed(name, raw)}

    legacy = {"bounced", "dropped"} if name == "mailgun" else set()
    assert set(table) - seen - legacy == set()
    assert bool(table) != (name in CONFIGURED)


@every
def test_recipients_are_bare_lower_case_addresses(name: str) -> None:
    for raw in sampler(name).SAMPLES.values():
        for event in parsed(name, raw):
            assert event.recipient is None or event.recipient in {"ann@example.com", "bob@example.com"}


@every
def test_an_event_without_anything_is_quarantined_not_guessed(name: str) -> None:
    if name in CONFIGURED:
        assert parsed(name, {})[0].type is EventType.OTHER
    else:
        with pytest.raises(UnparseableEvent):
            parsed(name, {})


def test_samples_survive_our_own_json() -> None:
    for name in REGISTRY:
        for raw in sampler(name).SAMPLES.values():
            assert loads(json.dumps(raw)) == raw
