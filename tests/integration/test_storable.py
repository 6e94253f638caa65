"""NUL and lone surrogates: legal in JSON, refused by Postgres, and stored all the same without loss."""

import copy
import json
from typing import Any

import pytest

from mailfold.errors import DataRejected
from mailfold.jsontext import restore_raw
from mailfold.store import batch
from samples.ses import SAMPLES
from tests.support.records import envelope, notification, raw, record

ODD = "a\x00b\ud800c\udfffd"
POISONED: dict[str, dict[str, Any]] = {
    "value": raw("a", reason=ODD),
    "nested value": raw("a", deep=[{"x": [ODD]}]),
    "key": {**raw("a"), ODD: 1},
    "id": raw(ODD),
    "type": raw("a", ODD),
    "recipient": raw("a", "bounce", bounce_type="Permanent", recipient=f"{ODD}@example.com"),
    "message id": raw("a", message_id=ODD),
    "bounce type": raw("a", "bounce", bounce_type=ODD),
    "NUL alone": raw("a", reason="\x00"),
    "surrogate pair the wrong way round": raw("a", reason="\udc00\ud800"),
}


@pytest.mark.parametrize("name", POISONED)
def test_what_postgres_cannot_hold_is_stored_without_loss_and_once(workshop: Any, store: Any, name: str) -> None:
    outcome = workshop.process(record(envelope(POISONED[name], raw("neighbour"))))
    again = workshop.process(record(envelope(POISONED[name], raw("other"))))

    assert (outcome.failed, again.failed) == ([], [])
    assert [(counts.new, counts.duplicate, counts.conflict) for counts in again.counts] == [(1, 1, 0)]
    assert store.value("select count(*) from dead_letters") == 0
    payloads = [restore_raw(payload) for [payload] in store.rows("select payload from email_events")]
    assert len(payloads) == 3
    assert POISONED[name] in payloads


def test_two_ids_that_look_alike_once_stored_stay_two(workshop: Any, store: Any) -> None:
    workshop.process(record(envelope(raw("a\x00"), raw("a\ud800"), raw("a\ufffd"))))

    assert store.value("select count(*) from email_events") == 3


def test_a_character_beyond_the_basic_plane_is_nothing_odd(workshop: Any, store: Any) -> None:
    event = raw("a", reason="😀 \\ud800 \\u0000 é")

    workshop.process(record(envelope(event)))

    assert store.value("select payload from email_events") in (event, json.dumps(event, separators=(",", ":")))
    assert restore_raw(store.value("select payload from email_events")) == event
    assert store.value("select reason from email_events") == "😀 \\ud800 \\u0000 é"


@pytest.mark.parametrize(
    "odd",
    [{"number": 10**30}, {"deep": json.loads("[" * 300 + "]" * 300)}, {"number": -(2**63) - 1, "text": "é"}],
    ids=["a number beyond 64 bits", "deep nesting", "both kinds of text"],
)
def test_what_the_fast_encoder_refuses_is_stored_like_anything_else(workshop: Any, store: Any, odd: Any) -> None:
    event = raw("a", **odd)

    outcome = workshop.process(record(envelope(event, raw("neighbour", at="2026-01-01T00:00:00.25Z"))))

    assert outcome.failed == []
    assert store.rows("select event_id, payload->'data' from email_events where event_id like '%:a'") == [
        ["sesmetric:a", event["data"]]
    ]
    assert store.value("select count(distinct occurred_at) from email_events") == 2


def test_a_notification_with_odd_characters_in_its_message_and_id_is_stored(workshop: Any, store: Any) -> None:
    event = copy.deepcopy(SAMPLES["permanent bounce"])
    event["bounce"]["bouncedRecipients"] = [{"emailAddress": f"{ODD}@example.com", "diagnosticCode": ODD}]
    event["bounce"]["feedbackId"] = ODD
    event["mail"][ODD] = ODD
    body = notification(event, message_id=ODD)

    outcomes = [workshop.process(record(body)), workshop.process(record(body, receive_count=2))]

    assert [outcome.failed for outcome in outcomes] == [[], []]
    assert restore_raw(store.value("select payload from email_events")) == event
    assert store.value("select recipient from email_events") == "a\ufffdb\ufffdc\ufffdd@example.com"
    assert store.value("select count(*) from suppressed") == 1


def test_a_dead_letter_keeps_them_as_they_were_written(workshop: Any, store: Any) -> None:
    unparseable = {"type": "x", ODD: ODD}
    no_envelope = json.dumps({"neither": ODD})

    workshop.process(record(envelope(unparseable)), record(no_envelope))

    dead_letters = dict(store.rows("select kind, raw from dead_letters"))
    assert json.loads(dead_letters["unparseable"]) == unparseable
    assert dead_letters["not_an_envelope"] == no_envelope


def test_a_key_that_no_encoder_likes_is_refused_by_the_store_and_not_by_a_crash(store: Any) -> None:
    claim = batch.Claim(claim_key="main:\ud800", request_hash="h", source="main")

    with pytest.raises(DataRejected), store.owner.transaction() as tx:
        batch.claim(tx, [claim])
