"""sweep: soft bounces in a row stop an address, a delivery releases it; and what a person decides wins."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailfold.events import Effect
from mailfold.steps.sweep import sweep
from mailfold.store.connection import Database
from mailfold.store.suppressions import decide_manually
from mailfold.telemetry import Telemetry

START = datetime(2026, 1, 1, tzinfo=UTC)


def store_event(store: Any, number: int, kind: str, *, minute: int, soft: bool = True, blames: bool = False) -> None:
    bounce_class = "null" if kind != "bounced" else "'soft'" if soft else "'hard'"
    store.rows(
        "insert into email_events (event_id, fingerprint, source, provider, kind, type, bounce_class, scope, "
        "message_id, recipient, occurred_at, received_at, machine, payload, message_fault) values "
        f"('e{number}', 'f', 's', 'p', 'k', '{kind}', {bounce_class}, '', 'm{number}', 'ann@example.com', "
        f"'{START + timedelta(minutes=minute)}', now(), false, '{{}}', {blames})"
    )


@pytest.fixture
def swept(store: Any) -> Any:
    """Run sweep with its own rights and return what it did."""
    database = Database(store.url("mailfold_sweep"))
    yield lambda limit=5, publish=False: sweep(database, Telemetry("sweep"), soft_limit=limit, publish=publish)
    database.close()


def suppressed(store: Any) -> list[list[Any]]:
    return store.rows("select reason, since from suppressed where address = 'ann@example.com'")


def test_five_soft_bounces_in_a_row_stop_the_address_at_the_fifth(store: Any, swept: Any) -> None:
    for number in range(6):
        store_event(store, number, "bounced", minute=number)

    first, again = swept(), swept()

    assert (first, again) == ({"suppressed": 1, "lifted": 0}, {"suppressed": 0, "lifted": 0})
    assert suppressed(store) == [["soft_bounces", START + timedelta(minutes=4)]]


def test_four_are_not_enough_and_what_the_message_caused_does_not_count(store: Any, swept: Any) -> None:
    for number in range(4):
        store_event(store, number, "bounced", minute=number)
    store_event(store, 4, "bounced", minute=4, blames=True)

    swept()

    assert suppressed(store) == []


def test_a_delivery_in_between_breaks_the_row_even_when_it_arrives_late(store: Any, swept: Any) -> None:
    for number in range(5):
        store_event(store, number, "bounced", minute=number)
    swept()
    store_event(store, 9, "delivered", minute=2)

    done = swept()

    assert done == {"suppressed": 0, "lifted": 1}
    assert suppressed(store) == []


def test_the_stop_outlives_the_events_it_came_from(store: Any, swept: Any) -> None:
    for number in range(5):
        store_event(store, number, "bounced", minute=number)
    swept()
    store.rows("delete from email_events")

    swept()

    assert len(suppressed(store)) == 1


def test_a_higher_limit_releases_what_it_would_not_have_stopped(store: Any, swept: Any) -> None:
    for number in range(6):
        store_event(store, number, "bounced", minute=number)
    swept()

    same, higher = swept(6), swept(7, publish=True)

    assert (same, higher) == ({"suppressed": 1, "lifted": 0}, {"suppressed": 0, "lifted": 1})
    assert suppressed(store) == []
    assert store.value("select body -> 'because' ->> 'type' from outbox") == "refolded"


def test_a_row_of_which_one_bounce_is_read_otherwise_is_released_although_the_rest_is_pruned(
    store: Any, swept: Any
) -> None:
    for number in range(5):
        store_event(store, number, "bounced", minute=number)
    swept()
    store.rows("delete from email_events where event_id < 'e3'")
    kept = swept()
    store.rows("update email_events set bounce_class = 'unknown' where event_id = 'e3'")

    done = swept()

    assert (kept, done) == ({"suppressed": 0, "lifted": 0}, {"suppressed": 0, "lifted": 1})
    assert suppressed(store) == []


def decide(store: Any, effect: Effect, minute: int, by: str = "ann") -> bool:
    at = START + timedelta(minutes=minute)
    with store.owner.transaction() as tx:
        return decide_manually(
            tx, " Ann@Example.com ", effect, decided_at=at, decided_by=by, reason="asked", publish=False
        )


def test_a_stop_by_hand_holds_whatever_events_say(store: Any, swept: Any) -> None:
    decide(store, Effect.SUPPRESS, 1)
    store.rows("update suppressions set last_lift_at = '2027-01-01', last_lift_event_id = 'x'")

    assert [row[0] for row in suppressed(store)] == ["manual"]


def test_a_lift_by_hand_lifts_what_came_before_and_not_what_comes_after(store: Any, swept: Any) -> None:
    for number in range(5):
        store_event(store, number, "bounced", minute=number)
    swept()

    decide(store, Effect.LIFT, 10)
    lifted = suppressed(store)
    later = START + timedelta(minutes=11)
    store.rows(
        f"update suppressions set first_suppress_at = '{later}', first_suppress_event_id = 'b', "
        f"last_suppress_at = '{later}', "
        "last_suppress_event_id = 'b', first_suppress = jsonb_build_object('type', 'bounced')"
    )

    assert lifted == []
    assert [row[0] for row in suppressed(store)] == ["bounced"]


def test_of_two_decisions_the_later_wins_in_any_order(store: Any) -> None:
    late, early = decide(store, Effect.SUPPRESS, 5), decide(store, Effect.LIFT, 3)

    assert (late, early) == (True, False)
    assert [row[0] for row in suppressed(store)] == ["manual"]
