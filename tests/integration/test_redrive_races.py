"""Redrive beside live traffic: whoever folds an event first, it counts once, and nobody waits for ever."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.providers import REGISTRY
from mailfold.queue import Record
from mailfold.steps.operate import operate
from mailfold.steps.operate.context import OperateContext
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry
from tests.integration.conftest import Store, Workshop
from tests.support.captured import MAILGUN, Captured, event
from tests.support.records import SOURCES, TOPICS, envelope, raw, record
from tests.support.state import await_waiting, state

KINDS = ("delivery", "open", "click", "complaint", "bounce")


def events(rng: Random, count: int) -> list[Any]:
    return [
        raw(
            f"e{number}",
            rng.choice(KINDS),
            at=f"2026-01-01T00:{number % 60:02}:00Z",
            message_id=f"m{number % 5}",
            recipient=f"user{number % 7}@example.com",
        )
        for number in range(count)
    ]


def give(url: str, **arguments: Any) -> dict[str, Any]:
    """Order a redrive on a connection of its own."""
    database = Database(url)
    office = OperateContext(
        database=database,
        sources=SOURCES,
        topics=TOPICS,
        publish=True,
        soft_limit=5,
        retention={},
        by="ann",
        now=datetime.now(UTC),
        remaining_ms=lambda: 60_000,
        telemetry=Telemetry("operate"),
    )
    try:
        return operate({"command": "dead-letters.redrive", "arguments": {"all": True, **arguments}}, office)
    finally:
        database.close()


def bury(workshop: Workshop, batches: list[list[Any]]) -> None:
    parse = REGISTRY["sesmetric"].parse

    def stumble(*_: Any) -> Any:
        raise UnparseableEvent("no such field")

    REGISTRY["sesmetric"] = replace(REGISTRY["sesmetric"], parse=stumble)
    try:
        workshop.process(
            *[record(envelope(*batch, body=f"dead{index}".encode())) for index, batch in enumerate(batches)]
        )
    finally:
        REGISTRY["sesmetric"] = replace(REGISTRY["sesmetric"], parse=parse)


def everything(store: Store) -> dict[str, Any]:
    tables = state(store.rows)
    return {name: tables[name] for name in ("email_events", "message_status", "suppressions", "dead_letters")}


@pytest.mark.parametrize("seed", range(8))
def test_live_copies_of_dead_letters_count_once(make_workshop: Callable[[], Workshop], store: Store, seed: int) -> None:
    rng = Random(seed)
    sent = events(rng, 60)
    batches = [sent[start : start + 5] for start in range(0, 60, 5)]
    make_workshop().process(*[record(envelope(*batch)) for batch in batches])
    expected = everything(store)
    store.rows("truncate email_events, message_status, suppressions, claims, outbox")
    bury(make_workshop(), batches)

    def live() -> None:
        workshop = make_workshop()
        for number in range(6):
            copies = rng.sample(sent, 20)
            outcome = workshop.process(record(envelope(*copies, body=f"live{number}{id(workshop)}".encode())))
            assert outcome.failed == []

    def redrive(most: int) -> None:
        cursor: str | None = ""
        until = datetime.now(UTC).isoformat()
        while cursor is not None:
            answer = give(store.url("mailfold_operate"), apply=True, most=most, cursor=cursor, until=until)
            assert answer["ok"], answer
            cursor = answer["result"]["cursor"]

    run_together(live, live, lambda: redrive(7), lambda: redrive(11))
    redrive(100)

    assert everything(store) == expected
    # Every change of a status is announced once, whoever made it.
    assert store.value("select count(*) - count(distinct body) from outbox where topic = 'status_changed'") == 0


def test_a_redrive_waits_for_the_same_event_under_way_and_then_knows_it(
    make_workshop: Callable[[], Workshop], store: Store
) -> None:
    bury(make_workshop(), [[raw("e1")]])
    under_way = Database(store.url("mailfold_process"))
    answers: list[dict[str, Any]] = []
    with under_way.transaction() as tx:
        tx.execute(
            "insert into email_events (event_id, fingerprint, source, provider, kind, type, scope, occurred_at,"
            " received_at, machine, payload, message_fault) values ('sesmetric:e1', 'x', 'main', 'sesmetric',"
            " 'delivery', 'delivered', '', now(), now(), false, '{}', false)"
        )
        redrive = threading.Thread(target=lambda: answers.append(give(store.url("mailfold_operate"), apply=True)))
        redrive.start()
        await_waiting(store.url("postgres"), 1)
    redrive.join()
    under_way.close()

    assert (answers[0]["result"]["new"], answers[0]["result"]["conflict"]) == (0, 1)
    assert store.value("select count(*) from email_events") == 1


def test_a_letter_that_somebody_else_folds_is_left_to_them(make_workshop: Callable[[], Workshop], store: Store) -> None:
    bury(make_workshop(), [[raw("e1"), raw("e2")]])
    other = Database(store.url("mailfold_operate"))
    with other.transaction() as tx:
        tx.execute("select from dead_letters where raw like '%e1%' for update")
        answer = give(store.url("mailfold_operate"), apply=True)["result"]
    other.close()

    assert (answer["dead_letters"], answer["new"]) == (1, 1)
    assert answer["cursor"] is not None
    assert store.value("select count(*) from dead_letters") == 1


def test_a_redrive_waits_for_the_same_token_under_way_and_then_does_not_believe_its_record(
    make_workshop: Callable[[], Workshop], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Captured().envelope(event("forged", "complained"))
    whole = Record(record_id="r", body=text, receive_count=1, sent_at=datetime.now(UTC))
    make_workshop().process(whole)
    monkeypatch.setitem(SOURCES, "mailgun", MAILGUN)
    claim_key = json.loads(text)["claim_key"]
    under_way = Database(store.url("mailfold_process"))
    answers: list[dict[str, Any]] = []
    with under_way.transaction() as tx:
        tx.execute(
            "insert into claims (claim_key, request_hash, source, result)"
            f" values ('{claim_key}', 'of the genuine event', 'mailgun', '{{}}')"
        )
        redrive = threading.Thread(target=lambda: answers.append(give(store.url("mailfold_operate"), apply=True)))
        redrive.start()
        await_waiting(store.url("postgres"), 1)
    redrive.join()
    under_way.close()

    assert (answers[0]["result"]["new"], answers[0]["result"]["left"]) == (0, 1)
    assert store.rows("select kind, unproven from dead_letters") == [["claim_conflict", True]]
    assert store.value("select count(*) from suppressions") == 0


def run_together(*works: Callable[[], None]) -> None:
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
