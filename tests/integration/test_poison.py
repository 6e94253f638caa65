"""Poison: what can never be folded is kept with its reason, and whoever stands beside it is folded all the same."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mailfold.events import Event, Raw
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.steps.unit import QUARANTINE_AFTER
from samples.ses import SAMPLES
from tests.support.records import envelope, notification, raw, record, unstorable

LETTERS = "select kind, reason, source, provider, claim_key is not null, raw from dead_letters order by kind, raw"
EVENTS = "select event_id from email_events order by 1"


@pytest.fixture
def clumsy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter with a bug: it stumbles over events that say so."""
    parse = REGISTRY["sesmetric"].parse

    def stumble(event: Raw, origin: Origin) -> list[Event]:
        if event.get("stumble"):
            return [][0]
        return [unstorable(one) if event.get("refuse") else one for one in parse(event, origin)]

    monkeypatch.setitem(REGISTRY, "sesmetric", replace(REGISTRY["sesmetric"], parse=stumble))


def test_an_event_that_cannot_be_parsed_is_kept_and_its_neighbours_are_folded(workshop: Any, store: Any) -> None:
    bad = {"type": "delivery", "note": "no id"}

    outcome = workshop.process(record(envelope(raw("a"), bad, raw("b"))), record(envelope(raw("c"))))

    assert outcome.failed == []
    assert store.rows(EVENTS) == [["sesmetric:a"], ["sesmetric:b"], ["sesmetric:c"]]
    [[kind, reason, source, provider, has_claim, dead_letter]] = store.rows(LETTERS)
    assert (kind, reason, source, provider, has_claim) == ("unparseable", "no id", "main", "sesmetric", True)
    assert json.loads(dead_letter) == bad
    assert store.value("select result ->> 'dead' from claims where (result ->> 'new')::int = 2") == "1"


def test_events_that_are_not_even_objects_are_kept(workshop: Any, store: Any) -> None:
    body = envelope(raw("a")).replace('"events":[', '"events":[5,true,[],[[]],')

    outcome = workshop.process(record(body))

    assert outcome.failed == []
    assert store.rows("select kind, raw from dead_letters order by raw") == [
        ["unparseable", text] for text in ("5", "[[]]", "[]", "true")
    ]
    assert store.rows(EVENTS) == [["sesmetric:a"]]


NO_ENVELOPES = [
    "",
    "hello",
    "[1]",
    '{"mailfold": 99}',
    '{"mailfold": 1}',
    '{"a": "\\u0000 \\ud800"}',
    "[" * 100_000,
    envelope(raw("x")).replace('"main"', '"nobody"'),
    envelope(raw("x")).replace('"sesmetric"', '"sendgrid"'),
    notification(SAMPLES["Click"]).replace("111122223333", "666677778888"),
    json.dumps({**json.loads(notification(SAMPLES["Click"])), "Message": "not json"}),
    json.dumps({**json.loads(notification(SAMPLES["Click"])), "Type": "SubscriptionConfirmation"}),
]


def test_records_that_are_no_envelopes_are_kept_whole(workshop: Any, store: Any) -> None:
    outcome = workshop.process(*[record(body) for body in NO_ENVELOPES], record(envelope(raw("a"))))

    assert outcome.failed == []
    assert store.rows(EVENTS) == [["sesmetric:a"]]
    dead_letters = store.rows("select kind, source, raw from dead_letters")
    assert sorted(dead_letter for _, _, dead_letter in dead_letters) == sorted(NO_ENVELOPES)
    assert {(kind, source) for kind, source, _ in dead_letters} == {("not_an_envelope", None)}


def test_the_same_poison_again_is_the_same_dead_letter(workshop: Any, store: Any) -> None:
    for count in (1, 2, 3):
        workshop.process(
            record("hello", receive_count=count), record(envelope({"type": "x"}, body=str(count).encode()))
        )

    assert store.value("select count(*) from dead_letters") == 2


@pytest.mark.usefixtures("clumsy")
def test_an_unforeseen_failure_is_retried_while_its_neighbours_are_folded(workshop: Any, store: Any) -> None:
    poison = record(envelope(raw("b"), {**raw("bad"), "stumble": True}), record_id="poison")

    outcome = workshop.process(record(envelope(raw("a"))), poison, record(envelope(raw("c"))))

    assert outcome.failed == ["poison"]
    assert store.rows(EVENTS) == [["sesmetric:a"], ["sesmetric:c"]]
    assert store.value("select count(*) from dead_letters") == 0
    assert store.value("select count(*) from claims") == 2


@pytest.mark.usefixtures("clumsy")
def test_an_unforeseen_failure_is_set_aside_with_its_traceback_in_the_end(workshop: Any, store: Any) -> None:
    bad = {**raw("bad"), "stumble": True}
    text = envelope(raw("b"), bad)

    failures = [len(workshop.process(record(text, receive_count=count)).failed) for count in range(1, QUARANTINE_AFTER)]
    last = workshop.process(record(text, receive_count=QUARANTINE_AFTER), record(envelope(raw("a"))))

    assert failures == [1] * (QUARANTINE_AFTER - 1)
    assert last.failed == []
    assert store.rows(EVENTS) == [["sesmetric:a"], ["sesmetric:b"]]
    [[kind, reason, dead_letter]] = store.rows("select kind, reason, raw from dead_letters")
    assert (kind, json.loads(dead_letter)) == ("unexpected", bad)
    assert "Traceback" in reason
    assert "IndexError" in reason


@pytest.mark.parametrize("receive_count", [1, QUARANTINE_AFTER])
def test_a_record_that_breaks_its_reader_hurts_only_itself(
    workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch, receive_count: int
) -> None:
    def stumble(*_: object) -> None:
        return [][0]

    monkeypatch.setitem(REGISTRY, "ses", replace(REGISTRY["ses"], unwrap=stumble))
    poison = record(notification(SAMPLES["Click"]), receive_count=receive_count, record_id="poison")

    outcome = workshop.process(record(envelope(raw("a"))), poison, record(envelope(raw("b"))))

    assert store.rows(EVENTS) == [["sesmetric:a"], ["sesmetric:b"]]
    assert outcome.failed == (["poison"] if receive_count == 1 else [])
    kept = [] if receive_count == 1 else [["unexpected", poison.body]]
    assert store.rows("select kind, raw from dead_letters") == kept


@pytest.mark.usefixtures("clumsy")
def test_a_value_that_postgres_refuses_is_found_and_its_neighbours_are_folded(workshop: Any, store: Any) -> None:
    refused = {**raw("refused"), "refuse": True}

    outcome = workshop.process(
        *[record(envelope(raw(f"left{n}"))) for n in range(3)],
        record(envelope(raw("before"), refused, raw("after"))),
        *[record(envelope(raw(f"right{n}"))) for n in range(4)],
    )

    assert outcome.failed == []
    assert store.value("select count(*) from email_events") == 9
    [[kind, reason, dead_letter]] = store.rows("select kind, reason, raw from dead_letters")
    assert (kind, json.loads(dead_letter)) == ("refused_by_store", refused)
    assert reason == "refused by Postgres with SQLSTATE 22P05"
    assert sum(counts.dead for counts in outcome.counts) == 1
    assert store.value("select count(*) from claims where result is null") == 0


def test_a_record_whose_claim_postgres_refuses_is_kept_whole(workshop: Any, store: Any) -> None:
    body = envelope(raw("a")).replace('"request_hash":"', '"request_hash":"\\u0000')

    outcome = workshop.process(record(body), record(envelope(raw("b"))))

    assert outcome.failed == []
    assert store.rows(EVENTS) == [["sesmetric:b"]]
    assert store.rows("select kind, raw from dead_letters") == [["refused_by_store", body]]


@pytest.mark.usefixtures("clumsy")
def test_a_conflict_beside_a_refused_value_loses_no_content(workshop: Any, store: Any) -> None:
    refused = {**raw("refused"), "refuse": True}
    contents = [raw("same", at=f"2026-01-0{day}T00:00:00Z") for day in range(1, 8)]

    workshop.process(record(envelope(*contents, refused)))

    kept = store.rows(
        "select payload from email_events union all select raw::jsonb from dead_letters where kind = 'conflict'"
    )
    assert sorted(event["timestamp"] for [event] in kept) == [content["timestamp"] for content in contents]


@pytest.mark.parametrize("remaining_ms", [0, 9_999])
def test_out_of_time_the_records_go_back(workshop: Any, store: Any, remaining_ms: int) -> None:
    records = [record(envelope(raw("a"))), record(envelope(raw("b")), receive_count=9)]

    workshop.remaining_ms = lambda: remaining_ms
    outcome = workshop.process(*records)

    assert sorted(outcome.failed) == sorted(one.record_id for one in records)
    assert store.rows(EVENTS) == []


def test_time_that_runs_out_half_way_sends_only_the_rest_back(workshop: Any, store: Any) -> None:
    workshop.remaining_ms = iter([60_000, 60_000, 5_000]).__next__

    outcome = workshop.process(
        record(envelope(raw("a"))),
        record(envelope(raw("b")), receive_count=9, record_id="late"),
    )

    assert outcome.failed == ["late"]
    assert store.rows(EVENTS) == [["sesmetric:a"]]
