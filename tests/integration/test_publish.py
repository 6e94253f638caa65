"""publish: every committed change reaches the bus, at least once, in the order of commits for each key."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from local.testing.handlers import Context, load_handler
from mailfold.bus import LARGEST_BYTES, Bus
from mailfold.steps.publish import PAGE_ROWS, REASON_CHARACTERS, TIME_GUARD_MS
from mailfold.store.connection import Database
from tests.support.fakes import FakeEvents, refuse_keys
from tests.support.press import PublishHarness, ordered, waiting, write


def test_in_quiet_everything_is_published_once(store: Any, room: PublishHarness) -> None:
    write(store, *"abcab" * 50)

    first, again = room.publish(), room.publish()

    assert (first, again) == ({"published": 250, "failed": 0}, {"published": 0, "failed": 0})
    assert sorted(room.sequences()) == list(range(1, 251))
    assert ordered(room.events)
    assert waiting(store) == []


def test_a_call_holds_ten_and_never_two_of_a_key(store: Any, room: PublishHarness) -> None:
    write(store, *["a"] * 3, *[f"k{n}" for n in range(25)])

    room.publish()

    calls = [[json.loads(entry["Detail"])["key"] for entry in call] for call in room.events.calls]
    assert [len(call) for call in calls] == [10, 10, 6, 1, 1]
    assert all(len(set(call)) == len(call) for call in calls)


def test_the_same_change_is_always_the_same_event(store: Any, room: PublishHarness) -> None:
    write(store, "a")
    room.publish()
    store.rows("update outbox set published_at = null")
    room.publish()

    first, again = room.events.calls

    assert first == again
    assert first[0]["DetailType"] == "status changed"


def test_a_number_that_a_restored_database_draws_again_makes_another_id(store: Any, room: PublishHarness) -> None:
    write(store, "a")
    room.publish()
    store.rows("update outbox set published_at = null, created_at = created_at + interval '1 microsecond'")
    room.publish()

    first, again = room.events.details

    assert first["sequence"] == again["sequence"]
    assert first["id"] != again["id"]


@pytest.mark.parametrize("code", ["ThrottlingException", "InternalFailure", "InvalidArgument", "MalformedDetail"])
def test_a_refused_change_holds_back_its_key_and_nobody_else(store: Any, room: PublishHarness, code: str) -> None:
    write(store, *"abcabca", *[f"k{n}" for n in range(PAGE_ROWS)], *"ab")
    room.events.otherwise = refuse_keys(code, "a")

    refused = room.publish()
    held = waiting(store)
    room.events.otherwise = None
    lifted = room.publish()

    assert refused == {"published": PAGE_ROWS + 5, "failed": 1}
    assert held == [1, 4, 7, PAGE_ROWS + 8]
    assert lifted == {"published": 4, "failed": 0}
    assert ordered(room.events)
    assert sorted(room.sequences()) == list(range(1, PAGE_ROWS + 10))


def test_of_a_call_only_what_was_refused_waits(store: Any, room: PublishHarness) -> None:
    write(store, *"abcd")
    room.events = FakeEvents(lambda _: [None, "InternalFailure", None, "ThrottlingException"])

    assert room.publish() == {"published": 2, "failed": 2}
    assert waiting(store) == [2, 4]


def test_a_bus_that_takes_nothing_is_not_asked_again(store: Any, room: PublishHarness) -> None:
    write(store, *[f"k{n}" for n in range(PAGE_ROWS + 5)])
    room.events.otherwise = lambda entries: ["ThrottlingException"] * len(entries)

    assert room.publish() == {"published": 0, "failed": 10}
    assert len(room.events.calls) == 1


def test_events_that_are_to_blame_themselves_do_not_stop_the_others(store: Any, room: PublishHarness) -> None:
    too_large = json.dumps({"occurred_at": "x" * LARGEST_BYTES})
    write(store, *[f"large{n}" for n in range(12)], body=too_large)
    write(store, "a", "large3", "b")

    assert room.publish() == {"published": 2, "failed": 12}
    assert [detail["key"] for detail in room.events.details] == ["a", "b"]
    assert waiting(store) == [*range(1, 13), 14]


def test_a_bus_that_fails_keeps_what_it_had_taken_and_ends_the_run(store: Any, room: PublishHarness) -> None:
    write(store, *[f"k{n}" for n in range(30)])
    room.events = FakeEvents(lambda _: [None] * 10, TimeoutError())

    assert room.publish() == {"published": 10, "failed": 10}
    assert waiting(store) == list(range(11, 31))
    assert len(room.events.calls) == 2


def test_a_reason_without_end_is_cut_and_the_change_published(store: Any, room: PublishHarness) -> None:
    body = {"because": {"reason": "é" * 300_000, "occurred_at": "2026-01-01T00:00:00+00:00"}, "address": "a"}
    write(store, "a", body=json.dumps(body))

    assert room.publish() == {"published": 1, "failed": 0}
    assert room.events.details[0]["body"]["because"]["reason"] == "é" * REASON_CHARACTERS


def test_of_two_runs_at_once_one_publishes(
    store: Any, room: PublishHarness, make_press_room: Callable[[], PublishHarness]
) -> None:
    other = make_press_room()
    write(store, *[f"k{n}" for n in range(15)])
    room.events.otherwise = lambda entries: [None] * len(entries) if other.publish() else []

    assert room.publish() == {"published": 15, "failed": 0}
    assert len(room.events.calls) == 2
    assert other.events.calls == []


def test_a_run_that_was_away_goes_on_where_the_other_one_stopped(
    store: Any, room: PublishHarness, make_press_room: Callable[[], PublishHarness]
) -> None:
    """Between two pages the place is free: what the other run takes there is not sent a second time."""
    other = make_press_room()
    write(store, *[f"k{n}" for n in range(PAGE_ROWS * 2 + 3)])
    room.remaining_ms = lambda: other.publish() and 300_000 if len(room.events.calls) == 10 else 300_000

    done = room.publish()

    assert done == {"published": PAGE_ROWS, "failed": 0}
    assert len(other.events.details) == PAGE_ROWS + 3
    assert sorted(room.sequences() + other.sequences()) == list(range(1, PAGE_ROWS * 2 + 4))


@pytest.mark.parametrize("rows", [0, 1, PAGE_ROWS - 1, PAGE_ROWS, PAGE_ROWS + 1, PAGE_ROWS * 2])
def test_pages_end_where_the_work_does(store: Any, room: PublishHarness, rows: int) -> None:
    write(store, *[f"k{n % 7}" for n in range(rows)])

    assert room.publish() == {"published": rows, "failed": 0}
    assert room.database.statements.count("publish_next") == rows // PAGE_ROWS + 1


def test_out_of_time_it_stops_between_two_pages(store: Any, room: PublishHarness) -> None:
    write(store, *[f"k{n}" for n in range(PAGE_ROWS * 3)])
    left = iter([TIME_GUARD_MS + 1] * 20)
    room.remaining_ms = lambda: next(left, TIME_GUARD_MS)

    done = room.publish()

    assert done == {"published": PAGE_ROWS * 2, "failed": 0}
    assert waiting(store) == list(range(PAGE_ROWS * 2 + 1, PAGE_ROWS * 3 + 1))


def test_a_slow_bus_does_not_hold_a_transaction_open_for_long(store: Any, room: PublishHarness) -> None:
    write(store, *["a"] * 7)
    clock = iter(range(10_000_000, 0, -9_000))
    room.remaining_ms = lambda: next(clock)

    done = room.publish()

    assert done == {"published": 7, "failed": 0}
    assert room.database.statements.count("publish_done") == 4
    assert ordered(room.events)


def test_a_backlog_is_walked_once_even_while_nothing_can_be_vacuumed(store: Any, room: PublishHarness) -> None:
    store.rows(
        "insert into outbox (topic, key, body) select 'status_changed', 'k' || n,"
        ' \'{"occurred_at": "2026-01-01T00:00:00+00:00"}\' from generate_series(1, 5000) n; analyze outbox'
    )
    watcher = Database(store.url("postgres"))
    with watcher.transaction() as old:
        old.execute("set transaction isolation level repeatable read")
        old.execute("select count(*) from outbox")
        room.publish()
    watcher.close()
    room.database.execute("select pg_stat_force_next_flush()")

    passed = store.value("select idx_tup_read from pg_stat_user_indexes where indexrelname = 'outbox_unpublished'")
    assert len(room.events.details) == 5_000
    assert 5_000 <= passed < 15_000


def test_the_real_function_publishes_and_counts(
    store: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"DATABASE_URL": store.url("mailfold_publish"), "BUS_NAME": "the-bus"}
    handler = load_handler("publish", monkeypatch, environment)
    events = FakeEvents(otherwise=refuse_keys("InternalFailure", "ann@example.com"))
    monkeypatch.setattr(handler, "bus", Bus(client=events, name=handler.bus.name))
    write(store, "a", "ann@example.com")
    store.rows("update outbox set created_at = now() - interval '1 hour'")

    answer = handler.handler({}, Context(300_000))

    handler.database.close()
    written = capsys.readouterr().out
    [metrics] = [json.loads(line) for line in written.splitlines() if "_aws" in line]
    assert answer == {"published": 1, "failed": 1}
    assert events.calls[0][0]["EventBusName"] == "the-bus"
    assert (metrics["EventsPublished"], metrics["PublishFailed"]) == ([1.0], [1.0])
    assert 3_600 <= metrics["OutboxAge"][0] < 3_700
    assert "ann" not in written


def test_prune_deletes_only_what_is_published(
    store: Any, room: PublishHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, *"abc")
    room.events.otherwise = refuse_keys("InternalFailure", "b")
    room.publish()
    store.rows("update outbox set created_at = now() - interval '99 days'")
    store.rows("update outbox set published_at = now() - interval '9 days' where published_at is not null")
    prune = load_handler("prune", monkeypatch, {"DATABASE_URL": store.url("mailfold_prune"), "RETENTION": "{}"})

    pruned = prune.handler({}, Context(900_000))

    prune.database.close()
    assert pruned["outbox"] == 2
    assert store.rows("select key from outbox") == [["b"]]
