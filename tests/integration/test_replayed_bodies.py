"""MailWebhook signs the body and not the key: under whatever key a body comes, in Postgres it is one event."""

import json
from datetime import timedelta

import pytest

from mailfold.steps.process import Outcome
from tests.integration.conftest import Store, Workshop
from tests.support.endpoint import NOW, Endpoint
from tests.support.records import SOURCES, record
from tests.support.state import state

SOFT = {"types": {"dsn": "bounced/soft"}}
BODY = json.dumps({"type": "dsn", "recipient": "ann@example.com", "message_id": "m-1"}).encode()
OTHER = json.dumps({"type": "dsn", "recipient": "bob@example.com", "message_id": "m-2"}).encode()
EVENTS = "select recipient, type, bounce_class from email_events order by 1"
FOLDED = ("email_events", "message_status", "suppressions", "outbox")


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    endpoint = Endpoint("mailwebhook", options=SOFT)
    monkeypatch.setitem(SOURCES, "main", endpoint.source)
    return endpoint


def fold(endpoint: Endpoint, workshop: Workshop) -> Outcome:
    outcome = workshop.process(*[record(text) for text in endpoint.sqs.bodies])
    endpoint.sqs.bodies.clear()
    return outcome


def tally(outcome: Outcome, name: str) -> int:
    return sum(getattr(counts, name) for counts in outcome.counts)


def test_a_captured_request_under_other_keys_changes_nothing(
    endpoint: Endpoint, workshop: Workshop, store: Store
) -> None:
    _, headers = endpoint.sign(BODY)
    endpoint.post(BODY, headers)
    fold(endpoint, workshop)
    before = {name: state(store.rows)[name] for name in FOLDED}

    for number in range(6):
        assert endpoint.post(BODY, {**headers, "X-Idempotency-Key": f"key-{number}"}).status == 200
    outcome = fold(endpoint, workshop)

    assert (tally(outcome, "new"), tally(outcome, "duplicate")) == (0, 6)
    assert {name: state(store.rows)[name] for name in FOLDED} == before
    assert store.rows(EVENTS) == [["ann@example.com", "bounced", "soft"]]
    assert store.value("select count(*) from dead_letters") == 0


def test_all_keys_at_once_are_one_event_too(endpoint: Endpoint, workshop: Workshop, store: Store) -> None:
    _, headers = endpoint.sign(BODY)
    for number in range(6):
        endpoint.post(BODY, {**headers, "X-Idempotency-Key": f"key-{number}"})

    outcome = fold(endpoint, workshop)

    assert (tally(outcome, "new"), tally(outcome, "duplicate"), tally(outcome, "conflict")) == (1, 5, 0)
    assert store.rows(EVENTS) == [["ann@example.com", "bounced", "soft"]]


def test_a_retry_with_a_new_stamp_is_the_claim_that_was_taken(
    endpoint: Endpoint, workshop: Workshop, store: Store
) -> None:
    for minutes in (0, 2, 12):
        later = NOW + timedelta(minutes=minutes)
        endpoint.post_signed(BODY, at=later, received_at=later)
        fold(endpoint, workshop)

    assert store.value("select count(*) from claims") == 1
    assert store.rows(EVENTS) == [["ann@example.com", "bounced", "soft"]]


def test_the_same_key_with_another_body_is_a_claim_conflict(
    endpoint: Endpoint, workshop: Workshop, store: Store
) -> None:
    for body in (BODY, OTHER):
        _, headers = endpoint.sign(body)
        endpoint.post(body, {**headers, "X-Idempotency-Key": "k"})
        fold(endpoint, workshop)

    assert store.rows(EVENTS) == [["ann@example.com", "bounced", "soft"]]
    [[kind, unproven, kept]] = store.rows("select kind, unproven, raw from dead_letters")
    assert (kind, unproven, json.loads(kept)) == ("claim_conflict", False, [json.loads(OTHER)])
