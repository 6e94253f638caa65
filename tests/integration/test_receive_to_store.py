"""From the signed request to the database: a replay, a changed byte, a wrong stamp, a fault and an old event."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailfold.errors import TransientStoreError
from tests.support.pipeline import Pipeline
from tests.support.records import raw

BOUNCE = raw("evt_123", "bounce", bounce_type="Permanent")
SIDE_EFFECTS = "select (select count(*) from email_events), (select count(*) from suppressions), count(*) from outbox"


def test_a_replayed_event_has_one_side_effect(pipeline: Pipeline, store: Any) -> None:
    statuses = [pipeline.post("main", [BOUNCE]) for _ in range(3)]
    pipeline.deliver(pipeline.waiting()[:1])
    once = store.rows(SIDE_EFFECTS)

    pipeline.deliver(pipeline.sqs.bodies)
    pipeline.deliver(pipeline.sqs.bodies, receive_count=2)

    assert statuses == [200, 200, 200]
    assert once == [[1, 1, 2]]
    assert store.rows(SIDE_EFFECTS) == once


def test_a_tampered_byte_is_401(pipeline: Pipeline, store: Any) -> None:
    status = pipeline.post("main", [BOUNCE], tampered=True)

    pipeline.deliver()

    assert status == 401
    assert store.rows(SIDE_EFFECTS) == [[0, 0, 0]]


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_stamp_that_is_an_hour_off_is_401(pipeline: Pipeline, store: Any, hours: int) -> None:
    status = pipeline.post("main", [BOUNCE], at=datetime.now(UTC) + timedelta(hours=hours))

    pipeline.deliver()

    assert status == 401
    assert store.rows(SIDE_EFFECTS) == [[0, 0, 0]]


def test_a_fault_mid_handler_leaves_nothing_and_the_second_delivery_succeeds(
    pipeline: Pipeline, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.post("main", [BOUNCE])
    [body] = pipeline.waiting()

    def fault(*_: object, **__: object) -> None:
        raise TransientStoreError("the plug was pulled")

    with monkeypatch.context() as faulty:
        faulty.setattr("mailfold.store.batch.complete", fault)
        failed_first = pipeline.deliver([body])
    left = store.rows(SIDE_EFFECTS), store.value("select count(*) from claims")
    failed_second = pipeline.deliver([body], receive_count=2)

    assert (failed_first, failed_second) == (1, 0)
    assert left == ([[0, 0, 0]], 0)
    assert store.rows(SIDE_EFFECTS) == [[1, 1, 2]]


def test_an_event_older_than_the_window_is_treated_as_fresh(pipeline: Pipeline, store: Any) -> None:
    pipeline.post("main", [BOUNCE])
    pipeline.deliver()
    store.rows("update email_events set received_at = received_at - interval '31 days'")
    store.rows("update claims set created_at = created_at - interval '31 days'")

    pruned = pipeline.prune()
    status = pipeline.post("main", [BOUNCE])
    pipeline.deliver()

    assert (pruned["events"], pruned["claims"], status) == (1, 1, 200)
    assert store.rows("select event_id, received_at > now() - interval '1 day' from email_events") == [
        ["sesmetric:evt_123", True]
    ]
    assert store.value("select result ->> 'new' from claims") == "1"
