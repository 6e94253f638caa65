"""query: what the console asks for besides the lists."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.integration.conftest import Store, Workshop
from tests.support.reader import Reader
from tests.support.records import envelope, raw, record


def test_nothing_waits_in_an_empty_store(reader: Reader) -> None:
    ages = reader.get("/v1/waiting")

    del ages["asked_at"]
    assert ages == {
        "newest_event_at": None,
        "oldest_unpublished_at": None,
        "oldest_dead_letter_at": None,
        "dead_letters": 0,
        "more_dead_letters": False,
    }


def test_what_waits_is_told_with_its_age(workshop: Workshop, store: Store, reader: Reader) -> None:
    now = datetime.now(UTC)
    workshop.process(record(envelope(raw("e1"), at=now - timedelta(hours=1))))
    workshop.process(record(envelope(raw("e2"), {"type": "delivery"}, at=now)))
    store.rows("update outbox set created_at = '2026-01-01T00:00:00Z'")

    ages = reader.get("/v1/waiting")

    assert datetime.fromisoformat(ages["newest_event_at"]) == now
    assert ages["oldest_unpublished_at"] == "2026-01-01T00:00:00+00:00"
    assert ages["dead_letters"] == 1
    assert datetime.fromisoformat(ages["oldest_dead_letter_at"]) > now - timedelta(minutes=1)
    store.rows("update outbox set published_at = now()")
    assert reader.get("/v1/waiting")["oldest_unpublished_at"] is None


def test_a_stop_is_listed_with_its_evidence(workshop: Workshop, reader: Reader) -> None:
    workshop.process(record(envelope(raw("e1", "bounce", bounce_type="hard", reason="550 5.1.1 no such user"))))

    [row] = reader.get("/v1/suppressions")["suppressions"]
    reader.ask("PUT", "/v1/suppressions/ann@example.com", body={"reason": "by letter"})
    [found] = reader.get("/v1/suppressions")["suppressions"]

    assert (row["evidence"]["event_id"], row["evidence"]["reason"]) == ("sesmetric:e1", "550 5.1.1 no such user")
    assert (found["evidence"], found["manual_reason"]) == (None, "by letter")


def test_a_plot_may_go_by_minutes(workshop: Workshop, reader: Reader) -> None:
    until = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
    for seconds in (70, 40, 20, 10):
        at = until - timedelta(seconds=seconds)
        workshop.process(record(envelope(raw(f"e{seconds}"), at=at)))

    found = reader.get("/v1/events/series", step="minute", until=until.isoformat())

    assert (found["since"], found["until"]) == ("2026-01-01T11:00:00+00:00", "2026-01-01T12:00:30+00:00")
    assert [(point["at"], point["events"]) for point in found["points"]] == [
        ("2026-01-01T11:59:00+00:00", 2),
        ("2026-01-01T12:00:00+00:00", 2),
    ]


@pytest.mark.parametrize("hours", [4, 48])
def test_a_plot_by_minutes_is_bounded(reader: Reader, hours: int) -> None:
    since = datetime.now(UTC) - timedelta(hours=hours)

    reply = reader.ask("GET", "/v1/events/series", query={"step": "minute", "since": since.isoformat()})

    assert (reply.status, reply.body) == (400, {"error": "since must be before until, and by at most 180 steps"})
