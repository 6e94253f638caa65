"""Events that take too much processor time to read: set aside at once, while their neighbours are folded."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mailfold import budget
from mailfold.events import Event, Raw
from mailfold.isolation import CPU_SECONDS
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.steps.unit import MOST_EVENTS
from tests.support.records import envelope, raw, record

EVENTS = "select event_id from email_events order by 1"
LETTERS = "select kind, reason, raw ->> 'id' from (select kind, reason, raw::jsonb from dead_letters) as l order by 3"


def burn() -> None:
    while True:
        pass


BURNS: dict[str, Callable[[], object]] = {
    "a loop": burn,
    "a pattern": lambda: re.search(r"^(\w+\s?)*$", "a" * 60 + "!"),
}


@pytest.fixture(autouse=True)
def _greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter that computes without end at events that say so."""
    parse = REGISTRY["sesmetric"].parse

    def compute(event: Raw, origin: Origin) -> list[Event]:
        if event.get("burn"):
            BURNS[event["burn"]]()
        copies = event.get("copies", 1)
        return [replace(one, event_id=f"{one.event_id}-{n}") for one in parse(event, origin) for n in range(copies)]

    monkeypatch.setitem(REGISTRY, "sesmetric", replace(REGISTRY["sesmetric"], parse=compute))
    monkeypatch.setattr(budget, "SECONDS", 0.1)
    monkeypatch.setattr(budget, "TICK_SECONDS", 0.02)


@pytest.mark.parametrize("how", BURNS)
@pytest.mark.parametrize("receive_count", [1, 2])
def test_an_event_that_computes_without_end_is_set_aside_and_its_neighbours_are_folded(
    workshop: Any, store: Any, how: str, receive_count: int
) -> None:
    outcome = workshop.process(
        record(envelope(raw("a"), {**raw("greedy"), "burn": how}, raw("b")), receive_count=receive_count),
        record(envelope(raw("c")), receive_count=receive_count),
    )

    assert outcome.failed == []
    assert store.rows(EVENTS) == [["sesmetric:a-0"], ["sesmetric:b-0"], ["sesmetric:c-0"]]
    reason = "reading it took more than 0.1 s of processor time"
    assert store.rows(LETTERS) == [["over_budget", reason, "greedy"]]


def test_several_of_them_in_one_batch_are_each_set_aside(workshop: Any, store: Any) -> None:
    greedy = [{**raw(f"g{number}"), "burn": "a loop"} for number in range(4)]

    outcome = workshop.process(
        record(envelope(greedy[0], raw("a"), greedy[1])), record(envelope(*greedy[2:], raw("b")))
    )

    assert outcome.failed == []
    assert store.rows(EVENTS) == [["sesmetric:a-0"], ["sesmetric:b-0"]]
    assert [row[0] for row in store.rows(LETTERS)] == ["over_budget"] * 4


def test_a_record_that_waits_uses_no_budget(workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine, a slow database: time passes, but no processor time of this process."""
    monkeypatch.setitem(BURNS, "a wait", lambda: threading.Event().wait(0.5))

    outcome = workshop.process(record(envelope({**raw("a"), "burn": "a wait"})))

    assert outcome.failed == []
    assert store.rows(EVENTS) == [["sesmetric:a-0"]]


def test_many_events_that_each_take_little_use_no_budget(
    workshop: Any, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BURNS, "some", lambda: sum(range(400_000)))

    workshop.process(*[record(envelope({**raw(f"e{number}"), "burn": "some"})) for number in range(60)])

    assert store.value("select count(*) from email_events") == 60


def test_nothing_is_interrupted_outside_of_an_event() -> None:
    with budget.metered():
        with budget.one_piece:
            pass
        sum(range(20_000_000))


def test_in_another_thread_nothing_is_limited_and_nothing_breaks() -> None:
    reached = []

    def run() -> None:
        with budget.metered(), budget.one_piece:
            reached.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert reached == [True]


def test_a_record_may_hold_events_that_use_up_their_budget_without_dying() -> None:
    """What the kernel ends a child for must not come before what process itself notices."""
    assert CPU_SECONDS >= 3 * 1.25


def test_a_redrive_of_all_leaves_them_out(
    workshop: Any, store: Any, order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.process(record(envelope({**raw("greedy"), "burn": "a loop"})))
    [[group]] = store.rows("select group_id from dead_letters")

    of_all = order("dead-letters.redrive", all=True, apply=True)
    tried = order("dead-letters.redrive", group=group)
    monkeypatch.setitem(BURNS, "a loop", lambda: None)
    by_group = order("dead-letters.redrive", group=group, apply=True)

    assert (of_all["dead_letters"], of_all["left_out"]) == (0, 1)
    assert "by their group or id" in of_all["left_out_reason"]
    assert (tried["left"], by_group["new"]) == (1, 1)
    assert store.rows(EVENTS) == [["sesmetric:greedy-0"]]


def test_a_raw_event_of_very_many_events_is_set_aside(workshop: Any, store: Any) -> None:
    """Each of them would be stored with the whole raw event, which multiplies it."""
    workshop.process(record(envelope(raw("few") | {"copies": MOST_EVENTS}, raw("many") | {"copies": MOST_EVENTS + 1})))

    assert store.value("select count(*) from email_events") == MOST_EVENTS
    assert store.rows(LETTERS) == [["unparseable", f"it holds more than {MOST_EVENTS} events", "many"]]
