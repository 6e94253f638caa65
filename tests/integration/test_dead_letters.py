"""dead-letters: shown by group, tried without a trace, folded again exactly once."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.events import Event, Raw
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.steps.unit import QUARANTINE_AFTER
from samples.ses import SAMPLES
from tests.integration.conftest import Store, Workshop
from tests.support.records import SOURCES, envelope, notification, raw, record, unstorable
from tests.support.state import state

Order = Callable[..., dict[str, Any]]

#: Everything, to the last column and the last number drawn.
WHOLE = {
    table: f"select to_jsonb(t) from {table} t order by to_jsonb(t)::text"
    for table in (
        "email_events",
        "message_status",
        "suppressions",
        "claims",
        "dead_letters",
        "outbox",
        "daily_totals",
        "audit_log",
        "erasure_key",
        "schema_migrations",
    )
} | {"sequences": "select sequencename::text, last_value from pg_sequences order by 1"}
EVENTS = "select event_id from email_events order by 1"
LETTERS = "select kind, reason from dead_letters order by kind, reason"


def whole(store: Store) -> dict[str, Any]:
    return {name: store.rows(sql) for name, sql in WHOLE.items()}


class Adapter:
    """SESMetric's adapter, which can be broken and fixed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failure: Exception | None = None
        self.change: Callable[[Event], Event] = lambda event: event
        self._parse = REGISTRY["sesmetric"].parse
        monkeypatch.setitem(REGISTRY, "sesmetric", replace(REGISTRY["sesmetric"], parse=self))

    def __call__(self, event: Raw, origin: Origin) -> list[Event]:
        if self.failure:
            raise self.failure
        return [self.change(found) for found in self._parse(event, origin)]


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Adapter:
    return Adapter(monkeypatch)


def unparseable(workshop: Workshop, adapter: Adapter, *events: Raw) -> None:
    adapter.failure = UnparseableEvent("no id at place 17")
    workshop.process(*[record(envelope(event)) for event in events])
    adapter.failure = None


def test_letters_that_failed_in_the_same_way_are_one_group(workshop: Workshop, adapter: Adapter, order: Order) -> None:
    for place in (1, 22, 333):
        adapter.failure = UnparseableEvent(f"no id at place {place}")
        workshop.process(record(envelope(raw(f"e{place}"))))
    workshop.process(record("hello"))

    found = order("dead-letters.groups")

    assert found["dead_letters"] == 4
    assert [(group["source"], group["kind"], group["dead_letters"]) for group in found["groups"]] == [
        ("main", "unparseable", 3),
        (None, "not_an_envelope", 1),
    ]
    sample = order("dead-letters.show", id=found["groups"][0]["sample"])
    assert json.loads(sample["raw"])["id"] in {"e1", "e22", "e333"}


def test_a_traceback_is_shown_by_its_last_line(workshop: Workshop, adapter: Adapter, order: Order) -> None:
    adapter.failure = KeyError("subject")
    workshop.process(record(envelope(raw("e1")), receive_count=QUARANTINE_AFTER))

    [group] = order("dead-letters.groups")["groups"]

    assert (group["kind"], group["reason"]) == ("unexpected", "KeyError: 'subject'")


def test_a_list_goes_page_by_page_and_holds_no_raw(workshop: Workshop, adapter: Adapter, order: Order) -> None:
    unparseable(workshop, adapter, *[raw(f"e{number}") for number in range(5)])
    group = order("dead-letters.groups")["groups"][0]["group_id"]

    pages, cursor = [], ""
    while cursor is not None:
        page = order("dead-letters.list", group=group, most=2, cursor=cursor)
        pages.append([dead_letter["dead_letter_id"] for dead_letter in page["dead_letters"]])
        cursor = page["cursor"]

    assert [len(page) for page in pages] == [2, 2, 1]
    assert len({dead_letter for page in pages for dead_letter in page}) == 5
    assert order("dead-letters.list", group="other")["dead_letters"] == []
    assert "raw" not in order("dead-letters.list")["dead_letters"][0]


def test_mended_letters_are_folded_as_if_they_had_never_failed(
    workshop: Workshop, adapter: Adapter, order: Order, store: Store
) -> None:
    events = [raw("e1"), raw("e2", "bounce", bounce_type="Permanent"), raw("e3", "complaint")]
    workshop.process(*[record(envelope(event)) for event in events])
    names = ("email_events", "message_status", "suppressions", "outbox")
    never_failed = {name: state(store.rows)[name] for name in names}
    store.rows("truncate email_events, message_status, suppressions, claims, outbox")
    unparseable(workshop, adapter, *events)

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["dead_letters"], done["new"], done["left"], done["events"]) == (3, 3, 0, 3)
    assert {name: state(store.rows)[name] for name in names} == never_failed
    assert store.rows(LETTERS) == []
    assert store.rows("select by_whom, action, details from audit_log") == [
        ["ann", "dead-letters.redrive", {"group": None, "dead_letters": 3, "folded": 3, "left": 0}]
    ]


def test_a_trial_tells_the_same_and_leaves_no_trace(
    workshop: Workshop, adapter: Adapter, order: Order, store: Store
) -> None:
    unparseable(workshop, adapter, raw("e1"), raw("e2", "bounce", bounce_type="Permanent"), raw("known"))
    workshop.process(record(envelope(raw("known"), body=b"again")), record("hello"))
    before = whole(store)

    tried = order("dead-letters.redrive", all=True)

    assert whole(store) == before
    done = order("dead-letters.redrive", all=True, apply=True)
    assert (tried["new"], tried["duplicate"], tried["left"]) == (2, 1, 1)
    told = ("dead_letters", "new", "duplicate", "left", "events", "reasons")
    assert [tried[name] for name in told] == [done[name] for name in told]
    assert whole(store) != before


def test_folding_again_twice_changes_nothing_more(
    workshop: Workshop, adapter: Adapter, order: Order, store: Store
) -> None:
    unparseable(workshop, adapter, raw("e1"), raw("e2"))
    order("dead-letters.redrive", all=True, apply=True)
    before = state(store.rows)

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["dead_letters"], done["cursor"]) == (0, None)
    assert state(store.rows) == before


def test_only_what_is_chosen_is_folded(workshop: Workshop, adapter: Adapter, order: Order, store: Store) -> None:
    unparseable(workshop, adapter, raw("e1"), raw("e2"), raw("e3"))
    workshop.process(record(envelope(raw("x")).replace('"main"', '"gone"')))
    dead_letters = {json.loads(text)["id"]: key for key, text in store.rows(
        "select dead_letter_id, raw from dead_letters where kind = 'unparseable'"
    )}  # fmt: skip
    group = order("dead-letters.show", id=dead_letters["e1"])["group_id"]

    one = order("dead-letters.redrive", ids=[dead_letters["e2"]], apply=True)
    assert (one["new"], store.rows(EVENTS)) == (1, [["sesmetric:e2"]])

    rest = order("dead-letters.redrive", group=group, apply=True)
    assert (rest["new"], store.rows("select kind from dead_letters")) == (2, [["not_an_envelope"]])


def test_pages_end_and_leave_out_what_comes_meanwhile(
    workshop: Workshop, adapter: Adapter, order: Order, store: Store
) -> None:
    unparseable(workshop, adapter, *[raw(f"e{number}") for number in range(7)])
    first = order("dead-letters.redrive", all=True, apply=True, most=3)
    unparseable(workshop, adapter, *[raw(f"later{number}") for number in range(9)])

    cursor, dead_letters = first["cursor"], first["dead_letters"]
    while cursor is not None:
        page = order("dead-letters.redrive", all=True, apply=True, most=3, cursor=cursor, until=first["until"])
        cursor, dead_letters = page["cursor"], dead_letters + page["dead_letters"]

    assert dead_letters == 7
    assert store.value("select count(*) from dead_letters") == 9


def test_large_raws_make_small_pages(workshop: Workshop, adapter: Adapter, order: Order) -> None:
    unparseable(workshop, adapter, *[raw(f"e{number}", note="x" * 850_000) for number in range(8)])

    first = order("dead-letters.redrive", all=True, apply=True)
    second = order("dead-letters.redrive", all=True, apply=True, cursor=first["cursor"])

    assert (first["dead_letters"], second["dead_letters"]) == (5, 3)


def test_what_cannot_be_folded_today_gets_todays_reason(
    workshop: Workshop, adapter: Adapter, order: Order, store: Store
) -> None:
    unparseable(workshop, adapter, raw("e1"))
    adapter.failure = UnparseableEvent("no type")
    [[before]] = store.rows("select to_jsonb(d) - 'reason' - 'group_id' from dead_letters d")

    done = order("dead-letters.redrive", all=True, apply=True)

    assert done["reasons"] == [{"source": "main", "kind": "unparseable", "reason": "no type", "dead_letters": 1}]
    assert store.rows("select to_jsonb(d) - 'reason' - 'group_id' from dead_letters d") == [[before]]
    assert store.rows(LETTERS) == [["unparseable", "no type"]]


def test_another_kind_of_failure_is_another_letter_in_the_same_place(
    workshop: Workshop, adapter: Adapter, order: Order, store: Store
) -> None:
    unparseable(workshop, adapter, raw("e1"))
    adapter.failure = KeyError("subject")
    kept = "select source, provider, claim_key, headers, raw, received_at from dead_letters"
    before = store.rows(kept)

    order("dead-letters.redrive", all=True, apply=True)

    assert store.rows(kept) == before
    assert store.value("select kind from dead_letters") == "unexpected"
    # The same input again is the same dead letter still.
    workshop.process(record(envelope(raw("e1"), body=b"again"), receive_count=QUARANTINE_AFTER))
    assert store.value("select count(*) from dead_letters") == 1


def test_a_whole_record_is_opened_again(workshop: Workshop, order: Order, store: Store) -> None:
    gone = {**SOURCES}
    source = gone.pop("main")
    body = envelope(raw("e1"), {"type": "delivery"}, raw("e2"))
    try:
        SOURCES.pop("main")
        workshop.process(record(body))
    finally:
        SOURCES["main"] = source
    assert store.rows(LETTERS) == [["not_an_envelope", "an envelope of a source that is not configured"]]

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["left"], done["events"]) == (1, 2)
    assert store.rows(EVENTS) == [["sesmetric:e1"], ["sesmetric:e2"]]
    # Of the record only the event remains that cannot be parsed, as if it had come that way.
    assert store.rows("select kind, reason, source, raw, claim_key from dead_letters") == [
        ["unparseable", "no id", "main", '{"type":"delivery"}', json.loads(body)["claim_key"]]
    ]


def test_a_notification_of_ses_keeps_the_id_that_came_around_it(workshop: Workshop, order: Order, store: Store) -> None:
    # The id of a click stands in the notification, not in the record within it.
    text = notification(SAMPLES["Click"])
    workshop.process(record(text))
    [[event_id]] = store.rows(EVENTS)
    store.rows("truncate email_events, message_status, claims, outbox")
    parse = REGISTRY["ses"].parse
    try:
        REGISTRY["ses"] = replace(REGISTRY["ses"], parse=lambda *_: [][0])
        workshop.process(record(text, receive_count=QUARANTINE_AFTER))
    finally:
        REGISTRY["ses"] = replace(REGISTRY["ses"], parse=parse)
    assert store.rows("select kind from dead_letters") == [["unexpected"]]

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["new"], store.rows(EVENTS)) == (1, [[event_id]])


def test_a_letter_from_before_headers_were_kept_is_left(workshop: Workshop, order: Order, store: Store) -> None:
    click = json.dumps(SAMPLES["Click"])
    store.rows(
        f"""insert into dead_letters (dead_letter_id, kind, reason, source, provider, raw, received_at, created_at)
        values ('old', 'unparseable', 'x', 'ses', 'ses', '{click}', now(), now() - interval '1 year')"""
    )
    before = whole(store)["dead_letters"]

    done = order("dead-letters.redrive", all=True, apply=True)

    assert done["reasons"] == [{"source": "ses", "kind": "unparseable", "reason": "needs a person", "dead_letters": 1}]
    assert whole(store)["dead_letters"] == before
    assert store.rows(EVENTS) == []


def test_all_events_of_a_claim_conflict_are_folded(workshop: Workshop, order: Order, store: Store) -> None:
    workshop.process(record(envelope(raw("e1"), body=b"same")))
    workshop.process(record(envelope(raw("e1"), raw("e2"), {"type": "delivery"}, body=b"same")))
    assert store.rows("select kind from dead_letters") == [["claim_conflict"]]

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["left"], done["events"]) == (1, 1)
    assert store.rows(EVENTS) == [["sesmetric:e1"], ["sesmetric:e2"]]
    assert store.rows(LETTERS) == [["unparseable", "no id"]]


def test_a_conflict_is_left_to_a_person(workshop: Workshop, order: Order, store: Store) -> None:
    workshop.process(record(envelope(raw("same"))))
    workshop.process(record(envelope(raw("same", "complaint"))))
    before = state(store.rows)

    done = order("dead-letters.redrive", all=True, apply=True)

    assert done["reasons"] == [{"source": "main", "kind": "conflict", "reason": "needs a person", "dead_letters": 1}]
    assert state(store.rows) == before


def test_a_conflict_whose_event_was_pruned_does_not_become_a_second_event(
    workshop: Workshop, order: Order, store: Store
) -> None:
    workshop.process(record(envelope(raw("same"))))
    workshop.process(record(envelope(raw("same", "complaint"))))
    store.rows("truncate email_events")

    order("dead-letters.redrive", all=True, apply=True)

    assert store.rows(EVENTS) == []


def test_a_conflict_that_todays_adapter_does_not_make_is_folded(
    workshop: Workshop, adapter: Adapter, order: Order, store: Store
) -> None:
    workshop.process(record(envelope(raw("same"))))
    workshop.process(record(envelope(raw("same", "complaint"))))
    adapter.change = lambda event: replace(event, event_id=f"{event.event_id}:{event.kind}")

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["new"], done["left"]) == (1, 0)
    assert store.value("select count(*) from email_events") == 2
    assert store.rows(LETTERS) == []


def test_a_letter_can_turn_out_to_be_a_conflict(
    workshop: Workshop, adapter: Adapter, order: Order, store: Store
) -> None:
    unparseable(workshop, adapter, raw("same"))
    workshop.process(record(envelope(raw("same", "complaint"))))

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["conflict"], done["left"]) == (1, 0)
    assert store.value("select count(*) from message_status") == 2
    assert store.rows("select kind from dead_letters") == [["conflict"]]
    # And the one that is kept does not depend on which of them was a dead letter once.
    assert order("dead-letters.redrive", all=True)["left"] == 1


def test_a_letter_that_postgres_refuses_does_not_stop_the_others(
    workshop: Workshop, adapter: Adapter, order: Order, store: Store
) -> None:
    unparseable(workshop, adapter, raw("e1"), raw("refused"), raw("e2"))
    adapter.change = lambda event: unstorable(event) if "refused" in event.event_id else event

    tried = order("dead-letters.redrive", all=True)
    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["new"], done["left"]) == (tried["new"], tried["left"]) == (2, 1)
    assert [why["kind"] for why in done["reasons"]] == ["refused_by_store"]
    assert store.rows(EVENTS) == [["sesmetric:e1"], ["sesmetric:e2"]]
    assert store.rows(LETTERS) == [["refused_by_store", "refused by Postgres with SQLSTATE 22P05"]]
    adapter.change = lambda event: event
    assert order("dead-letters.redrive", all=True, apply=True)["new"] == 1


def test_a_conflict_that_postgres_refuses_does_not_stop_the_others_either(
    workshop: Workshop, adapter: Adapter, order: Order, store: Store
) -> None:
    workshop.process(*[record(envelope(raw(f"same{number}", "complaint"))) for number in range(4)])
    unparseable(workshop, adapter, *[raw(f"same{number}") for number in range(4)], raw("e1"))
    # Another message makes it another content.
    adapter.change = lambda event: replace(unstorable(event), message_id="m2") if "same" in event.event_id else event

    done = order("dead-letters.redrive", all=True, apply=True)

    # Only a content that takes the place of the stored one is written at all; with these four some do.
    assert done["new"] == 1
    assert {why["kind"] for why in done["reasons"]} == {"refused_by_store"}
    assert done["left"] == store.value("select count(*) from dead_letters where kind = 'refused_by_store'") > 0


def test_odd_characters_survive(workshop: Workshop, adapter: Adapter, order: Order, store: Store) -> None:
    odd = raw("e\x001", note="\ud800")
    workshop.process(record(envelope(odd)))
    plain = store.rows("select event_id, payload from email_events")
    store.rows("truncate email_events, message_status, suppressions, claims, outbox")
    unparseable(workshop, adapter, odd)

    order("dead-letters.redrive", all=True, apply=True)

    assert store.rows("select event_id, payload from email_events") == plain


@pytest.mark.parametrize("text", ["5", "[]", "true", "hello"])
def test_raws_that_are_no_events_stay(workshop: Workshop, order: Order, store: Store, text: str) -> None:
    event: Any = text if text == "hello" else json.loads(text)
    workshop.process(record(envelope(event)))
    before = store.rows("select raw from dead_letters")

    assert order("dead-letters.redrive", all=True, apply=True)["left"] == 1
    assert store.rows("select raw from dead_letters") == before


def test_a_letter_of_a_source_that_is_gone_stays(workshop: Workshop, order: Order, store: Store) -> None:
    workshop.process(record(envelope({"type": "delivery"})))
    store.rows("update dead_letters set source = 'gone'")

    done = order("dead-letters.redrive", all=True, apply=True)

    assert done["reasons"][0]["reason"] == "its source is not configured"
    assert store.value("select count(*) from dead_letters") == 1


def test_records_are_tried_without_a_trace(workshop: Workshop, order: Order, store: Store) -> None:
    workshop.process(record(envelope(raw("known"))))
    before = whole(store)

    answer = order(
        "dead-letters.try",
        bodies=[envelope(raw("e1"), raw("e2")), envelope(raw("known")), "hello", envelope({"type": "x"})],
    )

    told = [(one["result"], one["source"], one["kind"]) for one in answer["records"]]
    assert told == [
        ("new", "main", ""),
        ("duplicate", "main", ""),
        ("left", None, "not_an_envelope"),
        ("left", "main", "unparseable"),
    ]
    assert answer["records"][0]["events"] == {"new": 2, "duplicate": 0, "conflict": 0, "dead": 0}
    assert whole(store) == before


@pytest.mark.parametrize(
    ("command", "arguments", "sentence"),
    [
        ("redrive", {}, "say which dead letters"),
        ("redrive", {"all": True, "group": "x"}, "say which dead letters"),
        ("redrive", {"all": True, "most": 501}, "most must be a whole number from 1 to 500"),
        ("redrive", {"ids": ["x"] * 501}, "ids must be at most 500"),
        ("show", {"id": "x"}, "there is no such dead letter"),
        ("list", {"cursor": "x"}, "cursor must be one"),
        ("try", {"bodies": ["x"] * 11}, "bodies must be at most 10"),
    ],
)
def test_a_mistake_is_declined(order: Order, command: str, arguments: dict[str, Any], sentence: str) -> None:
    assert sentence in order(f"dead-letters.{command}", declined=True, **arguments)["error"]
