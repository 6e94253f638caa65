"""refold: what another rule would change, told and never kept."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import Store, Workshop
from tests.support.misreading import HARD, SOFT
from tests.support.records import envelope, raw, record
from tests.support.state import state

Order = Callable[..., dict[str, Any]]


def bounces(count: int, address: str = "ann@example.com", **data: Any) -> list[dict[str, Any]]:
    return [
        raw(f"{address}-{n}", "bounce", at=f"2026-01-01T00:0{n}:00Z", recipient=address, message_id=f"m{n}", **data)
        for n in range(count)
    ]


def refold_all(order: Order, **arguments: Any) -> list[dict[str, Any]]:
    pages = [order("refold", **arguments)]
    while pages[-1]["next"]:
        pages.append(order("refold", **arguments, after=pages[-1]["next"]))
    return pages


def test_a_lower_limit_would_stop_and_a_higher_one_release(store: Store, workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(*bounces(3, **SOFT), *bounces(6, "bob@example.com", **SOFT))))
    before = state(store.rows)

    lower, higher = order("refold", soft_limit=3), order("refold", soft_limit=7)

    # Bob's stop is that of the next sweep, which the rule of today makes as well.
    assert (lower["suppressed"], lower["lifted"]) == ([["ann@example.com", ""]], [])
    assert (higher["suppressed"], higher["lifted"]) == ([], [["bob@example.com", ""]])
    assert (lower["addresses"], lower["bounces"]) == (2, 0)
    assert state(store.rows) == before


def test_a_code_that_were_soft_would_release_and_count_towards_the_limit(
    store: Store, workshop: Workshop, order: Order
) -> None:
    full = {"diagnostic": "552 5.2.2 mailbox full", **HARD}
    workshop.process(record(envelope(*bounces(2, **full), *bounces(5, "bob@example.com", **full))))
    before = state(store.rows)

    found = order("refold", classes={"5.2.2": "soft"})
    strict = order("refold", classes={"5.2.2": "soft"}, soft_limit=2)

    # Of Bob's bounces five are in a row: he stays stopped, for another reason.
    assert (found["suppressed"], found["lifted"]) == ([], [["ann@example.com", ""]])
    assert found["bounces"] == 7
    assert (strict["suppressed"], strict["lifted"]) == ([], [])
    assert state(store.rows) == before


def test_a_code_that_were_hard_would_stop(workshop: Workshop, order: Order) -> None:
    moved = {"diagnostic": "550 5.1.6: moved, see 5.1.60 and 15.1.6", **SOFT}
    other = {"diagnostic": "550 5.1.60 and 15.1.6", **SOFT}
    workshop.process(record(envelope(*bounces(1, **moved), *bounces(1, "bob@example.com", **other))))

    found = order("refold", classes={"5.1.6": "hard"})

    assert (found["addresses"], found["bounces"], found["suppressed"]) == (1, 1, [["ann@example.com", ""]])


def test_each_address_is_told_once_on_whatever_pages_its_bounces_stand(workshop: Workshop, order: Order) -> None:
    for number in range(3):
        workshop.process(record(envelope(*bounces(3, f"a{number}@example.com", **SOFT))))

    pages = refold_all(order, soft_limit=2, most=1)

    told = [page["suppressed"] for page in pages if page["addresses"]]
    # What arrives at the same moment has the order of its ids, which tell nothing of addresses.
    assert sorted(told) == [[[f"a{n}@example.com", ""]] for n in range(3)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "name another soft limit, or another class of a code"),
        ({"soft_limit": 1}, "soft_limit must be a whole number from 2 to 100"),
        ({"classes": {"5.2": "soft"}}, "a class is named like 5.2.2=soft"),
        ({"classes": {"5.2.2": "firm"}}, "a class is named like 5.2.2=soft"),
        ({"classes": ["5.2.2"]}, "classes must be an object"),
    ],
)
def test_a_mistake_is_declined(order: Order, arguments: dict[str, Any], sentence: str) -> None:
    assert sentence in order("refold", declined=True, **arguments)["error"]
