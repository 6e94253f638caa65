"""replay: stored events through today's adapters; what only the old reading supported goes, and nothing else does."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from mailfold.events import Event, EventType
from mailfold.steps.operate import replay as step
from tests.integration.conftest import Store, Workshop
from tests.support.misreading import HARD, SOFT, Change, every_bounce_hard, everything_other, read_as
from tests.support.records import envelope, raw, record
from tests.support.state import state

Order = Callable[..., dict[str, Any]]


def derived(store: Store) -> dict[str, Any]:
    """What the events decide; the claims and the outbox tell of how they came."""
    found = state(store.rows)
    return {table: found[table] for table in ("email_events", "message_status", "suppressions")}


def replay_all(order: Order, **arguments: Any) -> list[dict[str, Any]]:
    pages = [order("replay", **arguments)]
    while pages[-1]["next"]:
        pages.append(order("replay", **arguments, after=pages[-1]["next"]))
    return pages


def test_a_wrong_stop_goes_and_what_the_right_reading_says_comes(
    store: Store, workshop: Workshop, order: Order
) -> None:
    batch = record(envelope(raw("e1", "bounce", **SOFT), raw("e2", "delivery")))
    with read_as(every_bounce_hard):
        workshop.process(batch)
    wrong = derived(store)

    told = order("replay", source="main")
    untouched = derived(store)
    done = order("replay", source="main", apply=True)

    assert untouched == wrong
    assert {**told, "applied": True} == done
    assert (done["read"], done["changed"], done["total"]) == (2, 1, 2)
    assert done["readings"] == [
        {"from": "bounced/hard, suppress", "to": "bounced/soft", "fields": "bounce_class, effect", "events": 1}
    ]
    assert done["statuses"] == {"added": 1, "removed": 1}
    assert (done["suppressed"], done["lifted"]) == (0, 1)
    assert done["changed_addresses"] == [{"address": "ann@example.com", "scope": "", "suppressed": False}]
    assert store.rows("select type, bounce_class from message_status order by 1") == [
        ["bounced", "soft"],
        ["delivered", ""],
    ]
    assert store.rows("select * from suppressions") == []


def test_what_was_unknown_becomes_what_todays_adapter_says(store: Store, workshop: Workshop, order: Order) -> None:
    with read_as(everything_other):
        workshop.process(record(envelope(raw("e1", "complaint"), raw("e2", "open", at="2026-01-01T00:01:00Z"))))

    done = order("replay", since="2026-01-01T00:00:00Z", apply=True)

    assert [(row["from"], row["to"]) for row in done["readings"]] == [
        ("other", "complained, suppress"),
        ("other", "opened"),
    ]
    assert store.rows("select type from email_events order by event_id") == [["complained"], ["opened"]]
    assert store.value("select type from current_status") == "complained"
    assert store.value("select last_suppress ->> 'type' from suppressions") == "complained"


def test_applied_twice_it_changes_nothing_more(store: Store, workshop: Workshop, order: Order) -> None:
    with read_as(every_bounce_hard):
        workshop.process(record(envelope(raw("e1", "bounce", **SOFT))))
    order("replay", source="main", apply=True)
    after = state(store.rows)

    again = order("replay", source="main", apply=True)

    assert (again["read"], again["changed"]) == (1, 0)
    assert state(store.rows) == after
    assert store.rows("select action, by_whom, details ->> 'changed' from audit_log") == [["replay", "ann", "1"]]


def test_a_redelivery_after_a_replay_is_a_duplicate(store: Store, workshop: Workshop, order: Order) -> None:
    wrong_words: Change = lambda event: replace(event, kind="odd", message_id="m9", scope="group:1")  # noqa: E731
    with read_as(wrong_words):
        workshop.process(record(envelope(raw("e1", "complaint"))))
    order("replay", message_id="m9", apply=True)

    outcome = workshop.process(record(envelope(raw("e1", "complaint"), raw("e2"))))

    assert [(counts.new, counts.duplicate, counts.conflict) for counts in outcome.counts] == [(1, 1, 0)]
    assert store.rows("select address, scope from suppressions") == [["ann@example.com", ""]]
    assert store.rows("select distinct message_id from message_status") == [["m1"]]


def test_evidence_of_pruned_events_stays(store: Store, workshop: Workshop, order: Order) -> None:
    early = raw("e1", "bounce", at="2026-01-01T00:00:00Z", **HARD)
    middle = raw("e2", "bounce", at="2026-01-02T00:00:00Z", **SOFT)
    late = raw("e3", "bounce", at="2026-01-03T00:00:00Z", **SOFT)
    with read_as(every_bounce_hard):
        workshop.process(record(envelope(early, middle, late)))
    store.rows("delete from email_events where event_id like '%e1%'")

    done = order("replay", recipient="ann@example.com", apply=True)

    assert (done["changed"], done["lifted"]) == (2, 0)
    [[first, last, evidence]] = store.rows(
        "select first_suppress_at, last_suppress_at, last_suppress from suppressions"
    )
    assert first == last == datetime.fromisoformat("2026-01-01T00:00:00Z")
    assert "e1" in evidence["event_id"]
    assert store.rows("select bounce_class, first_at, last_at from message_status order by 1") == [
        ["hard", first, first],
        ["soft", datetime.fromisoformat("2026-01-02T00:00:00Z"), datetime.fromisoformat("2026-01-03T00:00:00Z")],
    ]


def test_evidence_carries_the_new_reading(store: Store, workshop: Workshop, order: Order) -> None:
    with read_as(lambda event: replace(event, reason="?")):
        workshop.process(record(envelope(raw("e1", "bounce", diagnostic="550 no such user", **HARD))))

    done = order("replay", source="main", apply=True)

    assert (done["suppressed"], done["lifted"], done["statuses"]) == (0, 0, {})
    reasons = store.rows("select s.first_suppress ->> 'reason', e.reason from suppressions s, email_events e")
    assert reasons == [[reasons[0][1]] * 2]
    assert reasons[0][0] != "?"


def test_a_hand_and_soft_bounces_keep_their_row(store: Store, workshop: Workshop, order: Order) -> None:
    with read_as(every_bounce_hard):
        workshop.process(record(envelope(raw("e1", "bounce", **SOFT))))
    store.rows("update suppressions set manual_effect = 'suppress', manual_at = now(), manual_by = 'bob'")

    done = order("replay", source="main", apply=True)

    assert (done["suppressed"], done["lifted"]) == (0, 0)
    assert store.rows(
        "select manual_by, first_suppress, last_suppress_at, first_suppress_event_id from suppressions"
    ) == [["bob", None, None, None]]


def test_two_stops_of_one_address_on_two_pages_are_told_as_one_release(
    store: Store, workshop: Workshop, order: Order
) -> None:
    events = [raw(f"e{number}", "bounce", at=f"2026-01-01T00:0{number}:00Z", **SOFT) for number in range(5)]
    with read_as(every_bounce_hard):
        workshop.process(record(envelope(*events)))

    told = replay_all(order, source="main", most=2)
    done = replay_all(order, source="main", most=2, apply=True)

    for pages in (told, done):
        assert [page["read"] for page in pages] == [2, 2, 1]
        assert sum(page["changed"] for page in pages) == 5
        assert [page["lifted"] for page in pages] == [1, 0, 0]
        assert [page["statuses"] for page in pages] == [{"added": 1, "removed": 1}, {}, {}]
    assert store.rows("select * from suppressions") == []


def test_what_changes_is_announced(store: Store, workshop: Workshop, order: Order) -> None:
    with read_as(every_bounce_hard):
        workshop.process(record(envelope(raw("e1", "bounce", **SOFT))))
    before = store.value("select max(outbox_id) from outbox")

    order("replay", source="main")
    undone = store.value("select max(outbox_id) from outbox")
    order("replay", source="main", apply=True)

    assert undone == before
    announced = store.rows(f"select topic, key, body from outbox where outbox_id > {before} order by outbox_id")
    assert [(topic, key) for topic, key, _ in announced] == [
        ("status_changed", "m1"),
        ("suppression_lifted", "ann@example.com"),
    ]
    assert announced[0][2]["bounce_class"] == "soft"
    assert announced[1][2]["because"]["type"] == "refolded"


def test_ids_made_of_headers_are_found_by_the_words(store: Store, workshop: Workshop, order: Order) -> None:
    with read_as(everything_other):
        workshop.process(record(envelope(raw("e1", "complaint"))))
    store.rows("update email_events set event_id = 'sesmetric:from-a-header'")

    done = order("replay", source="main", apply=True)

    assert done["changed"] == 1
    assert store.rows("select event_id, type from email_events") == [["sesmetric:from-a-header", "complained"]]
    assert store.value("select last_suppress_event_id from suppressions") == "sesmetric:from-a-header"


def test_no_two_rows_become_the_same_event(store: Store, workshop: Workshop, order: Order) -> None:
    with read_as(everything_other):
        workshop.process(record(envelope(raw("e1", "complaint"))))
    store.rows(
        "insert into email_events (event_id, fingerprint, source, provider, kind, type, scope, message_id, recipient,"
        " occurred_at, received_at, machine, payload) select 'sesmetric:second', 'other words', source, provider, kind,"
        " type, scope, message_id, recipient, occurred_at, received_at, machine, payload from email_events"
    )

    done = order("replay", source="main", apply=True)

    assert done["left_alone"] == {"no event of its raw is this one any more": 1}
    assert store.value("select count(*) from email_events where type = 'complained'") == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("payload = '{}'", "unparseable"),
        ("provider = 'gone'", "its provider is not known any more"),
        ("recipient = 'erased:1'", "its person was erased"),
        ("provider = 'generic'", "its source is no longer configured, and"),
    ],
)
def test_what_cannot_be_read_is_told_and_left_alone(
    store: Store, workshop: Workshop, order: Order, change: str, reason: str
) -> None:
    with read_as(everything_other):
        workshop.process(record(envelope(raw("e1", "complaint"), raw("e2", "complaint", recipient="bob@example.com"))))
    store.rows(f"update email_events set {change} where event_id like '%e1%'")
    before = store.rows("select * from email_events where event_id like '%e1%'")

    done = order("replay", source="main", apply=True)

    [(told, count)] = done["left_alone"].items()
    assert told.startswith(reason)
    assert (count, done["changed"]) == (1, 1)
    assert store.rows("select * from email_events where event_id like '%e1%'") == before


def test_a_source_that_is_gone_is_read_without_settings_and_named(
    store: Store, workshop: Workshop, order: Order
) -> None:
    with read_as(everything_other):
        workshop.process(record(envelope(raw("e1", "complaint"))))
    store.rows("update email_events set source = 'former'")

    done = order("replay", source="former", apply=True)

    assert (done["changed"], done["not_configured"]) == (1, ["former"])
    assert store.rows("select source, type from email_events") == [["former", "complained"]]


def test_an_adapter_that_fails_stops_no_other_event(workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(raw("e1"), raw("e2"))))

    def fail_on_one(event: Event) -> Event:
        if event.event_id.endswith("e1"):
            raise RuntimeError
        return replace(event, type=EventType.OPENED)

    with read_as(fail_on_one):
        told = order("replay", source="main")

    assert (told["changed"], told["left_alone"]) == (1, {"the adapter failed: RuntimeError": 1})


def test_a_reading_that_postgres_refuses_stops_no_other_event(store: Store, workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(*(raw(f"e{number}", message_id=f"m{number}") for number in range(5)))))
    refuse: Change = lambda event: replace(  # noqa: E731
        event, type=EventType.OPENED, message_id="\x00" if event.event_id.endswith("e2") else event.message_id
    )

    with read_as(refuse):
        done = order("replay", source="main", apply=True)

    assert (done["changed"], done["left_alone"]) == (4, {"Postgres refuses the new reading": 1})
    assert store.value("select count(*) from email_events where type = 'opened'") == 4


def test_what_somebody_changes_meanwhile_is_not_written_over(
    store: Store, workshop: Workshop, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    with read_as(everything_other):
        workshop.process(record(envelope(raw("e1", "complaint"))))
    write = step.write_readings

    def erase_first(*arguments: Any, **options: Any) -> Any:
        store.rows("update email_events set recipient = 'erased:1'")
        return write(*arguments, **options)

    monkeypatch.setattr(step, "write_readings", erase_first)
    done = order("replay", source="main", apply=True)

    assert done["left_alone"] == {"somebody else changed it meanwhile": 1}
    assert store.rows("select recipient, type from email_events") == [["erased:1", "other"]]


def test_a_selection_is_a_selection(workshop: Workshop, order: Order) -> None:
    early, late = datetime.fromisoformat("2026-01-01T00:00:00Z"), datetime.fromisoformat("2026-02-01T00:00:00Z")
    workshop.process(record(envelope(raw("e1", message_id="m1"), at=early)))
    workshop.process(record(envelope(raw("e2", message_id="m2", recipient="bob@example.com"), at=late)))

    def count(**selection: str) -> int:
        return int(order("replay", **selection)["read"])

    assert count(message_id="m1") == count(recipient=" Bob@example.com") == count(since=late.isoformat()) == 1
    assert count(since=early.isoformat(), until=late.isoformat()) == 1
    assert count(since=early.isoformat()) == count(source="main") == 2
    assert count(source="sendgrid") == count(source="main", message_id="m3") == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "name a message, a recipient, a source or since when"),
        ({"until": "2026-01-01T00:00:00Z"}, "name a message, a recipient, a source or since when"),
        ({"recipient": "ann"}, "recipient must be an address"),
        ({"source": "main", "most": 0}, "most must be a whole number"),
        ({"source": "main", "after": {"event_id": "x"}}, "after must be what the page before named as next"),
    ],
)
def test_a_mistake_is_declined(order: Order, arguments: dict[str, Any], sentence: str) -> None:
    assert sentence in order("replay", declined=True, **arguments)["error"]


def test_live_traffic_goes_first_and_the_page_comes_again(
    store: Store, workshop: Workshop, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    with read_as(everything_other):
        workshop.process(record(envelope(raw("e1", "complaint"))))
    tries = []

    def release_after_the_first(*arguments: Any, **options: Any) -> Any:
        tries.append(arguments)
        if len(tries) == 2:
            store.rows("commit")
        return write(*arguments, **options)

    write = step.write_readings
    monkeypatch.setattr(step, "write_readings", release_after_the_first)
    store.rows("begin")
    store.rows("select 1 from email_events for update")
    done = order("replay", source="main", apply=True)

    assert (len(tries), done["changed"]) == (2, 1)
