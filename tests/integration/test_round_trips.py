"""Round trips: as many for a thousand events as for one."""

from typing import Any

import pg8000.core
import pytest

from tests.support.records import envelope, raw, record


@pytest.fixture
def flushes(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One entry for each time the driver sends and then waits."""
    counted: list[None] = []
    flush = pg8000.core._flush

    def counting(sock: Any) -> None:
        counted.append(None)
        flush(sock)

    monkeypatch.setattr(pg8000.core, "_flush", counting)
    return counted


def batch(records: int, events: int, name: str) -> list[Any]:
    return [
        record(envelope(*[raw(f"{name}-{r}-{e}", recipient=f"user{e}@example.com") for e in range(events)]))
        for r in range(records)
    ]


def cost(workshop: Any, flushes: list[None], records: list[Any]) -> tuple[list[str], int]:
    workshop.database.statements.clear()
    flushes.clear()
    assert workshop.process(*records).failed == []
    return list(workshop.database.statements), len(flushes)


def test_the_size_of_a_batch_does_not_change_what_it_costs(workshop: Any, flushes: list[None]) -> None:
    workshop.process(*batch(1, 1, "warm"))

    one = cost(workshop, flushes, batch(1, 1, "one"))
    ten = cost(workshop, flushes, batch(10, 1, "ten"))
    thousand = cost(workshop, flushes, batch(10, 100, "thousand"))

    assert one == ten == thousand
    assert one[0] == ["begin", "claim", "fold", "complete", "commit"]
    assert one[1] == len(one[0])


def test_a_redelivered_batch_costs_one_look_at_the_claims_more_and_one_fold_less(
    workshop: Any, flushes: list[None]
) -> None:
    workshop.process(*batch(10, 10, "again"))
    workshop.process(*batch(10, 10, "again"))

    again = cost(workshop, flushes, batch(10, 10, "again"))

    assert again == (["begin", "claim", "holders", "complete", "commit"], 5)


def test_known_events_in_new_envelopes_cost_one_look_more(workshop: Any, flushes: list[None]) -> None:
    workshop.process(*batch(2, 50, "known"))
    events = [raw(f"known-{r}-{e}", recipient=f"user{e}@example.com") for r in range(2) for e in range(50)]
    workshop.process(record(envelope(*events[:3])))

    statements, _ = cost(workshop, flushes, [record(envelope(*events, raw("new")))])

    assert statements == ["begin", "claim", "fold", "held", "complete", "commit"]
