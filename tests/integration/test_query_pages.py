"""Pages of messages: each message once, where it was when the walk began, whatever arrives meanwhile."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from tests.integration.conftest import Store, Workshop
from tests.support.reader import Reader
from tests.support.records import envelope, raw, record

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pages(reader: Reader, **query: Any) -> Iterator[list[dict[str, Any]]]:
    cursor: dict[str, str] = {}
    while True:
        page = reader.get("/v1/messages", **query, **cursor)
        yield page["messages"]
        if page["next"] is None:
            return
        cursor = {"cursor": page["next"]}


def ids(found: Iterator[list[dict[str, Any]]]) -> list[str]:
    return [item["message_id"] for page in found for item in page]


def arrive(workshop: Workshop, minute: int, *events: Any) -> None:
    workshop.process(record(envelope(*events, at=NOON + timedelta(minutes=minute))))


def test_each_message_stands_where_its_newest_event_arrived(workshop: Workshop, reader: Reader) -> None:
    arrive(workshop, 1, raw("e1", message_id="m1"))
    arrive(workshop, 2, raw("e2", message_id="m2"), raw("e3", message_id="m2", recipient="bob@example.com"))
    arrive(workshop, 3, raw("e4", "open", message_id="m1"))

    [first, *others] = reader.get("/v1/messages")["messages"]

    assert (first["message_id"], first["status"], first["event"]["type"]) == ("m1", "opened", "opened")
    assert sorted((it["message_id"], it["recipient"]) for it in others) == [
        ("m2", "ann@example.com"),
        ("m2", "bob@example.com"),
    ]


def test_pages_do_not_shift_while_events_arrive(workshop: Workshop, reader: Reader) -> None:
    """Newer events, late ones with an older time of arrival, and new messages: none of them moves a page."""
    for minute in range(20):
        arrive(workshop, minute, raw(f"e{minute}", message_id=f"m{minute:02}"))
    expected = [f"m{minute:02}" for minute in reversed(range(20))]

    found = []
    for number, page in enumerate(pages(reader, limit=3)):
        found += [item["message_id"] for item in page]
        # m05 moves to the front; m00 gets an event that arrived long ago but is stored only now, and so does a new one.
        arrive(workshop, 60 + number, raw(f"front{number}", "open", message_id="m05"))
        arrive(workshop, 18, raw(f"late{number}", "open", message_id="m00", url=str(number)))
        arrive(workshop, 4, raw(f"new{number}", message_id=f"new{number}"))

    assert found == expected
    assert ids(pages(reader, limit=3))[0] == "m05"


@pytest.mark.parametrize("seed", range(5))
def test_every_page_size_and_filter_shows_each_message_once(
    workshop: Workshop, reader: Reader, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Also where a page looks at few events, so that many pages are short, and where many arrive at once."""
    monkeypatch.setattr("mailfold.steps.query.messages.WALK", 4)
    monkeypatch.setattr("mailfold.steps.query.messages.WALK_FILTERED", 4)
    rng = Random(seed)
    kinds = ["delivery", "open", "bounce", "complaint"]
    events = [
        raw(f"e{n}", rng.choice(kinds), message_id=f"m{rng.randrange(12)}", recipient=f"{rng.choice('ab')}@example.com")
        for n in range(60)
    ]
    for start in range(0, 60, 7):
        arrive(workshop, start // 14, *events[start : start + 7])

    whole = reader.get("/v1/messages", limit=200)["messages"]
    everything = {(it["message_id"], it["recipient"]): it["status"] for it in whole}
    assert len(everything) == len(whole)
    for query in ({}, {"recipient": "a@example.com"}, {"status": "opened"}, {"status": "bounced"}, {"source": "main"}):
        for limit in (1, 3, 7):
            items = [item for page in pages(reader, limit=limit, **query) for item in page]
            keys = [(item["message_id"], item["recipient"]) for item in items]
            wanted = {
                key
                for key, status in everything.items()
                if query.get("status", status) == status and query.get("recipient", key[1]) == key[1]
            }
            assert sorted(keys) == sorted(wanted), (query, limit)


def test_filters_narrow_the_list(workshop: Workshop, reader: Reader) -> None:
    arrive(workshop, 1, raw("e1", message_id="m1"), raw("e2", "bounce", message_id="m2", bounce_type="Permanent"))
    arrive(workshop, 2, raw("e3", "bounce", message_id="m3", bounce_type="Transient", recipient="bob@example.com"))

    def found(**query: Any) -> list[str]:
        return sorted(ids(pages(reader, **query)))

    assert found(status="delivered") == ["m1"]
    assert found(status="bounced") == ["m2", "m3"]
    assert found(status="bounced", bounce_class="hard") == ["m2"]
    assert found(recipient="Bob@example.com") == ["m3"]
    assert found(source="main") == ["m1", "m2", "m3"]
    assert found(source="other") == []
    assert found(since=(NOON + timedelta(minutes=2)).isoformat()) == ["m3"]
    assert found(until=(NOON + timedelta(minutes=2)).isoformat()) == ["m1", "m2"]


def test_a_row_is_seen_by_later_snapshots_only_also_past_the_end_of_the_numbers(store: Store) -> None:
    def seen(version: str, snapshot: str) -> bool:
        return bool(store.value(f"select was_seen('{version}'::xid, '{snapshot}'::pg_snapshot)"))

    assert [seen("99", "100:110:105"), seen("105", "100:110:105"), seen("106", "100:110:105")] == [True, False, True]
    assert [seen("110", "100:110:"), seen("111", "100:110:")] == [False, False]
    # The snapshot is in the second round of the 32 bits, the row in the first, or the other way round.
    assert seen("4294967290", "4294967300:4294967300:")
    assert not seen("5", "4294967290:4294967290:")


@pytest.mark.parametrize("cursor", ["x", "####", "e30", "WyJhIl0", "ä", "W" * 8_001, "bnVsbA", "WzEsMiwzLDRd"])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/suppressions", "/v1/dead-letters"])
def test_a_cursor_that_nobody_gave_is_refused(reader: Reader, path: str, cursor: str) -> None:
    group = {"group": "abc"} if path == "/v1/dead-letters" else {}

    assert reader.ask("GET", path, query={"cursor": cursor, **group}).status == 400


def test_a_cursor_is_good_for_its_own_filters_only(workshop: Workshop, reader: Reader) -> None:
    arrive(workshop, 1, *(raw(f"e{n}", message_id=f"m{n}") for n in range(3)))
    cursor = reader.get("/v1/messages", limit=1)["next"]

    assert reader.ask("GET", "/v1/messages", query={"cursor": cursor, "status": "opened"}).status == 400
    assert reader.ask("GET", "/v1/messages", query={"cursor": cursor, "limit": "2"}).status == 200
