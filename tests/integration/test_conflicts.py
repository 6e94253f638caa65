"""Conflicts: one id with several contents; every content counts, one is kept, the others are dead letters."""

import json
from itertools import permutations
from typing import Any

from mailfold.jsontext import restore_raw
from tests.support.records import envelope, raw, record
from tests.support.state import state

CONTENTS = [
    raw("same", "bounce", at="2026-01-01T00:00:00Z", bounce_type="Permanent"),
    raw("same", "complaint", at="2026-01-03T00:00:00Z"),
    raw("same", "delivery", at="2026-01-02T00:00:00Z", recipient="bob@example.com"),
]
KEPT = (
    "select payload from email_events union all select raw::jsonb from dead_letters where kind = 'conflict' order by 1"
)
EMPTY = "truncate email_events, message_status, suppressions, claims, dead_letters, outbox"


def decided(store: Any) -> dict[str, Any]:
    """What must not depend on the order: all but the claims' results, arrival and what was announced when."""
    tables = state(store.rows)
    dead_letters = [[*dead_letter[:-1], json.loads(dead_letter[-1])] for dead_letter in tables["dead_letters"]]
    return {name: tables[name] for name in ("email_events", "message_status", "suppressions")} | {
        "dead_letters": dead_letters
    }


def test_another_content_under_a_known_id_is_kept_and_counted(workshop: Any, store: Any) -> None:
    workshop.process(record(envelope(CONTENTS[0])))

    outcome = workshop.process(record(envelope(CONTENTS[1], raw("other"))))

    [counts] = outcome.counts
    assert (counts.new, counts.duplicate, counts.conflict) == (1, 0, 1)
    assert sorted(content["type"] for [content] in store.rows(KEPT)) == ["bounce", "complaint", "delivery"]


def test_the_order_and_the_batches_of_the_contents_make_no_difference(workshop: Any, store: Any) -> None:
    outcomes = []
    for order in permutations(CONTENTS):
        for split in (1, 2, 3):
            store.rows(EMPTY)
            batches = [order[:split], order[split:]]
            for events in batches:
                if events:
                    workshop.process(*[record(envelope(event)) for event in events])
            outcomes.append(decided(store))

    for outcome in outcomes:
        assert outcome == outcomes[0]
    assert len(outcomes[0]["email_events"]) == 1
    assert len(outcomes[0]["dead_letters"]) == 2
    assert len(outcomes[0]["message_status"]) == 3


def test_a_content_that_came_before_is_a_dead_letter_once(workshop: Any, store: Any) -> None:
    for number in range(3):
        for content in CONTENTS:
            workshop.process(record(envelope(content, body=f"{number}{content}".encode())))

    assert store.value("select count(*) from dead_letters") == 2
    assert sorted(content["type"] for [content] in store.rows(KEPT)) == ["bounce", "complaint", "delivery"]


def test_odd_characters_survive_in_the_content_that_is_kept_and_in_those_that_are_not(
    workshop: Any, store: Any
) -> None:
    odd = [{**content, "note": "a\x00b\ud800"} for content in CONTENTS]

    for order in permutations(odd):
        store.rows(EMPTY)
        for content in order:
            workshop.process(record(envelope(content)))
        payload = restore_raw(store.value("select payload from email_events"))
        dead_letters = [json.loads(dead_letter) for [dead_letter] in store.rows("select raw from dead_letters")]
        assert sorted([payload, *dead_letters], key=str) == sorted(odd, key=str)


def test_a_content_that_differs_only_in_what_is_no_meaning_is_a_duplicate(workshop: Any, store: Any) -> None:
    workshop.process(record(envelope(raw("same", reason="first wording"))))

    outcome = workshop.process(record(envelope(raw("same", reason="second wording"))))

    assert [(counts.duplicate, counts.conflict) for counts in outcome.counts] == [(1, 0)]
    assert store.value("select count(*) from dead_letters") == 0
