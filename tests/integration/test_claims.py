"""Claims: the right to process an envelope exists once, and what came of it is remembered."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from mailfold.steps.process import Outcome
from tests.support.records import envelope, raw, record
from tests.support.state import await_waiting, state

CLAIM = b"the same request"


def tally(outcome: Outcome) -> dict[str, int]:
    assert outcome.failed == []
    names = ("new", "duplicate", "conflict", "dead")
    return {name: sum(getattr(counts, name) for counts in outcome.counts) for name in names}


def counted(new: int = 0, duplicate: int = 0, conflict: int = 0, dead: int = 0) -> dict[str, int]:
    return {"new": new, "duplicate": duplicate, "conflict": conflict, "dead": dead}


def test_a_new_claim_is_recorded_with_its_result(workshop: Any, store: Any) -> None:
    text = envelope(raw("a"), raw("b"))

    outcome = workshop.process(record(text))

    assert tally(outcome) == counted(new=2)
    [[key, request_hash, result, completed]] = store.rows(
        "select claim_key, request_hash, result, completed_at is not null from claims"
    )
    assert [key, request_hash] == [json.loads(text)["claim_key"], json.loads(text)["request_hash"]]
    assert (result, completed) == (counted(new=2), True)


def test_a_replayed_claim_returns_what_was_recorded_and_writes_nothing(workshop: Any, store: Any) -> None:
    text = envelope(raw("a"), raw("b"))
    workshop.process(record(text))
    before = state(store.rows), store.rows("select xmin::text, completed_at from claims")
    workshop.database.statements.clear()

    outcome = workshop.process(record(text))

    assert tally(outcome) == counted(duplicate=2)
    assert workshop.database.statements == ["begin", "claim", "holders", "complete", "commit"]
    assert (state(store.rows), store.rows("select xmin::text, completed_at from claims")) == before


def test_the_same_claim_with_another_payload_is_a_dead_letter(workshop: Any, store: Any) -> None:
    workshop.process(record(envelope(raw("a"), body=CLAIM)))

    outcome = workshop.process(record(envelope(raw("b"), body=CLAIM)), record(envelope(raw("c"))))

    assert tally(outcome) == counted(new=1, conflict=1)
    [[kind, source, dead_letter]] = store.rows("select kind, source, raw from dead_letters")
    assert (kind, source, json.loads(dead_letter)) == ("claim_conflict", "main", [raw("b")])
    assert store.rows("select event_id from email_events order by 1") == [["sesmetric:a"], ["sesmetric:c"]]


def test_copies_of_one_envelope_in_one_batch_are_one(workshop: Any, store: Any) -> None:
    text = envelope(raw("a"), raw("b"))

    outcome = workshop.process(*[record(text) for _ in range(5)])

    assert tally(outcome) == counted(new=2, duplicate=8)
    assert store.value("select count(*) from claims") == 1
    assert store.value("select result ->> 'new' from claims") == "2"


def test_of_two_payloads_under_one_claim_in_one_batch_the_first_holds_it(workshop: Any, store: Any) -> None:
    first, second = envelope(raw("a"), body=CLAIM), envelope(raw("b"), body=CLAIM)

    together = workshop.process(record(first), record(second))
    first_again = workshop.process(record(first))
    second_again = workshop.process(record(second))

    assert tally(together) == counted(new=1, conflict=1)
    assert tally(first_again) == counted(duplicate=1)
    assert tally(second_again) == counted(conflict=1)
    assert store.rows("select kind, raw from dead_letters") == [
        ["claim_conflict", json.dumps([raw("b")], separators=(",", ":"))]
    ]


def test_the_same_events_in_other_envelopes_are_duplicates(workshop: Any, store: Any) -> None:
    workshop.process(record(envelope(raw("a"), raw("b"))))

    outcome = workshop.process(record(envelope(raw("b"), raw("c"))), record(envelope(raw("a"), raw("a"))))

    assert tally(outcome) == counted(new=1, duplicate=3)
    assert store.value("select count(*) from email_events") == 3
    assert store.value("select count(*) from claims") == 3


def test_an_envelope_of_nothing_is_claimed_all_the_same(workshop: Any, store: Any) -> None:
    validation = json.dumps(
        {
            "Type": "Notification",
            "MessageId": "sns-1",
            "TopicArn": "arn:aws:sns:eu-west-1:111122223333:ses-events",
            "Message": "Successfully validated SNS topic for Amazon SES event publishing.",
        }
    )

    outcome = workshop.process(record(validation))

    assert tally(outcome) == counted()
    assert store.value("select claim_key from claims") == "ses:sns:sns-1"
    assert store.value("select count(*) from dead_letters") == 0


@pytest.mark.parametrize("copies", [2, 6])
def test_copies_that_arrive_at_the_same_moment_are_one(make_workshop: Any, store: Any, copies: int) -> None:
    text = envelope(raw("a"), raw("b"))
    workshops = [make_workshop() for _ in range(copies)]
    start = Barrier(copies)

    def deliver(workshop: Any) -> dict[str, int]:
        start.wait()
        return tally(workshop.process(record(text)))

    with ThreadPoolExecutor(copies) as pool:
        tallies = list(pool.map(deliver, workshops))

    assert sorted(one["new"] for one in tallies) == [0] * (copies - 1) + [2]
    assert sorted(one["duplicate"] for one in tallies) == [0] + [2] * (copies - 1)
    assert store.value("select count(*) from email_events") == 2


def test_the_second_of_two_workers_waits_for_the_first_and_sees_its_result(make_workshop: Any, store: Any) -> None:
    text = envelope(raw("a"))
    first, second = make_workshop(), make_workshop()
    with store.owner.transaction() as held:
        held.execute("lock table message_status in access exclusive mode")
        with ThreadPoolExecutor(2) as pool:
            leading = pool.submit(first.process, record(text))
            await_waiting(store.url("postgres"), 1)
            following = pool.submit(second.process, record(text))
            await_waiting(store.url("postgres"), 2)
            was_waiting = not following.done()
            held.execute("commit; begin")
            outcomes = leading.result(), following.result()

    assert was_waiting
    assert [tally(outcome) for outcome in outcomes] == [counted(new=1), counted(duplicate=1)]
