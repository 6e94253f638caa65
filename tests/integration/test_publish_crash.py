"""publish, interrupted anywhere: what was committed is published all the same, and nothing overtakes."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mailfold.errors import StoreError, TransientStoreError
from mailfold.steps.publish import PAGE_ROWS
from tests.support.fakes import FakeEvents
from tests.support.press import PublishHarness, ordered, waiting, write
from tests.support.state import await_no_session

FAULTS: dict[str, Callable[[], BaseException]] = {
    "transient": lambda: TransientStoreError("gone"),
    "killed": lambda: SystemExit(1),
}
#: Of a run over two pages; the last transaction only asks for the age of what waits.
PAGE = ["begin", "publish_alone", "publish_next", "publish_done", "commit"]
STATEMENTS = [*PAGE, *PAGE, "begin", "publish_age", "commit"]


def interrupted(room: PublishHarness) -> None:
    with pytest.raises((StoreError, SystemExit)):
        room.publish()


def test_a_run_over_two_pages_needs_every_statement_there_is(store: Any, room: PublishHarness) -> None:
    write(store, *[f"k{n % 3}" for n in range(PAGE_ROWS + 5)])

    room.publish()

    assert room.database.statements == STATEMENTS


#: A begin that fails on an old connection is tried once more on a new one, so that nobody sees it.
PLACES = [
    (fault, number)
    for fault in FAULTS
    for number, statement in enumerate(STATEMENTS, start=1)
    if not (fault == "transient" and number > 1 and statement == "begin")
]


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("fault", "number"), PLACES)
def test_a_crash_at_any_statement_loses_nothing_and_overtakes_nothing(
    store: Any, room: PublishHarness, fault: str, done: bool, number: int
) -> None:
    rows = PAGE_ROWS + 5
    write(store, *[f"k{n % 3}" for n in range(rows)])
    room.database.fail_at(number, FAULTS[fault](), done=done)
    interrupted(room)
    # A session that is cut off holds its turn until the server notices.
    await_no_session(store, "mailfold_publish")

    room.publish()

    assert set(room.sequences()) == set(range(1, rows + 1))
    # What a crash may cause to be sent again is one page.
    assert len(room.sequences()) <= rows + PAGE_ROWS
    assert ordered(room.events)
    assert waiting(store) == []


@pytest.mark.parametrize("taken", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", range(4))
def test_a_crash_at_any_call_loses_nothing_and_overtakes_nothing(
    store: Any, room: PublishHarness, taken: bool, call: int
) -> None:
    write(store, *[f"k{n % 12}" for n in range(24)])

    def die(entries: list[dict[str, Any]]) -> list[str | None]:
        if taken:
            room.events.details += [json.loads(entry["Detail"]) for entry in entries]
        raise SystemExit

    room.events = FakeEvents(*[lambda entries: [None] * len(entries)] * call, die)
    interrupted(room)

    room.publish()

    assert set(room.sequences()) == set(range(1, 25))
    assert ordered(room.events)
    assert waiting(store) == []
