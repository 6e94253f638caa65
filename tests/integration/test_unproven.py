"""Dead letters that failed an authenticity check: marked, left out of every redrive, folded only one by one."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from random import Random
from typing import Any

import pytest

from mailfold.errors import UnparseableEvent
from mailfold.providers import REGISTRY
from mailfold.queue import Record
from tests.integration.conftest import Store, Workshop
from tests.support.captured import MAILGUN, Captured, event
from tests.support.reader import Reader
from tests.support.records import SOURCES, envelope, raw, record
from tests.support.state import state

Order = Callable[..., dict[str, Any]]

FOLDED = ("email_events", "message_status", "suppressions", "outbox")
LETTERS = "select kind, unproven from dead_letters order by kind, dead_letter_id"
PEOPLE = "select recipient from email_events order by 1"
STOPPED = "select address from suppressed order by 1"


@pytest.fixture(autouse=True)
def mailgun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "mailgun", MAILGUN)


@pytest.fixture
def captured() -> Captured:
    return Captured()


def folded(store: Store) -> dict[str, Any]:
    tables = state(store.rows)
    return {name: tables[name] for name in FOLDED}


def forge(workshop: Workshop, captured: Captured, *names: str) -> None:
    """Send one genuine event, then others under its signature."""
    workshop.process(record(captured.envelope(event("genuine"))))
    for name in names:
        workshop.process(record(captured.envelope(event(name, "complained"))))


def ids(store: Store) -> list[str]:
    return [key for [key] in store.rows("select dead_letter_id from dead_letters where unproven order by 1")]


def unparseable(workshop: Workshop) -> None:
    workshop.process(record(envelope({"type": "delivery"})))


@pytest.mark.parametrize("choice", ["all", "group", "ids"])
def test_a_forged_complaint_suppresses_no_address_through_a_redrive(
    workshop: Workshop, captured: Captured, order: Order, store: Store, choice: str
) -> None:
    forge(workshop, captured, "ceo")
    [group] = order("dead-letters.groups")["groups"]
    chosen = {"all": {"all": True}, "group": {"group": group["group_id"]}, "ids": {"ids": [group["sample"]]}}[choice]

    order("dead-letters.redrive", **chosen, apply=True)

    assert store.rows(STOPPED) == []


def test_a_forged_complaint_that_was_kept_whole_suppresses_no_address_either(
    workshop: Workshop, captured: Captured, order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    bury(workshop, monkeypatch, whole(captured.envelope(event("ceo", "complained"))))
    workshop.process(record(captured.envelope(event("genuine"))))

    order("dead-letters.redrive", all=True, apply=True)

    assert store.rows(STOPPED) == []


def test_what_the_token_check_refuses_is_marked(workshop: Workshop, captured: Captured, store: Store) -> None:
    forge(workshop, captured, "forged")

    assert store.rows(LETTERS) == [["claim_conflict", True]]
    assert store.rows(PEOPLE) == [["genuine@example.com"]]


def test_two_contents_of_one_batch_are_told_apart_as_well(workshop: Workshop, captured: Captured, store: Store) -> None:
    workshop.process(record(captured.envelope(event("genuine"))), record(captured.envelope(event("forged"))))

    assert store.rows(LETTERS) == [["claim_conflict", True]]
    assert store.rows(PEOPLE) == [["genuine@example.com"]]


def test_a_key_that_proves_nothing_leaves_its_content_proven(workshop: Workshop, order: Order, store: Store) -> None:
    workshop.process(record(envelope(raw("e1"), body=b"same")))
    workshop.process(record(envelope(raw("e2"), body=b"same")))

    assert store.rows(LETTERS) == [["claim_conflict", False]]
    done = order("dead-letters.redrive", all=True, apply=True)
    assert (done["new"], done["left_out"], done["left_out_reason"]) == (1, 0, None)


@pytest.mark.parametrize("apply", [False, True])
@pytest.mark.parametrize("choice", ["all", "group", "ids"])
def test_no_redrive_folds_it(
    workshop: Workshop, captured: Captured, order: Order, store: Store, choice: str, apply: bool
) -> None:
    forge(workshop, captured, "ceo", "cfo")
    [group] = order("dead-letters.groups")["groups"]
    before = folded(store), store.rows(LETTERS)
    chosen = {"all": {"all": True}, "group": {"group": group["group_id"]}, "ids": {"ids": ids(store)}}[choice]

    done = order("dead-letters.redrive", **chosen, apply=apply)

    assert (done["dead_letters"], done["new"], done["left"], done["left_out"]) == (0, 0, 0, 2)
    assert "authenticity check" in done["left_out_reason"]
    assert (folded(store), store.rows(LETTERS)) == before
    assert store.rows(STOPPED) == []


def test_what_is_proven_is_folded_beside_it(workshop: Workshop, captured: Captured, order: Order, store: Store) -> None:
    forge(workshop, captured, "ceo")
    unparseable(workshop)
    store.rows("""update dead_letters set raw = '{"id":"e1","type":"delivery","timestamp":"2026-01-01T00:00:00Z"}'
        where kind = 'unparseable'""")
    chosen = [key for [key] in store.rows("select dead_letter_id from dead_letters")]

    done = order("dead-letters.redrive", ids=chosen, apply=True)

    assert (done["dead_letters"], done["new"], done["left_out"]) == (1, 1, 1)
    assert store.rows(LETTERS) == [["claim_conflict", True]]


def test_pages_count_each_that_is_left_out_once(
    workshop: Workshop, captured: Captured, order: Order, store: Store
) -> None:
    forge(workshop, captured, "a", "b", "c")
    workshop.process(*[record(envelope({"type": "delivery", "number": number})) for number in range(4)])

    pages, cursor = [], ""
    while cursor is not None:
        pages.append(order("dead-letters.redrive", all=True, most=2, cursor=cursor))
        cursor = pages[-1]["cursor"]

    assert (sum(page["dead_letters"] for page in pages), sum(page["left_out"] for page in pages)) == (4, 3)


def test_ids_and_the_flag_fold_it_and_the_audit_log_says_so(
    workshop: Workshop, captured: Captured, order: Order, store: Store
) -> None:
    forge(workshop, captured, "first", "second")
    chosen = ids(store)[:1]
    before = folded(store)

    tried = order("dead-letters.redrive", ids=chosen, unproven=True)
    assert (tried["new"], folded(store)) == (1, before)
    done = order("dead-letters.redrive", ids=chosen, unproven=True, apply=True)

    assert (done["dead_letters"], done["new"], done["left_out"]) == (1, 1, 0)
    assert store.value("select count(*) from email_events") == 2
    assert store.rows(LETTERS) == [["claim_conflict", True]]
    assert store.rows("select by_whom, action, details from audit_log") == [
        [
            "ann",
            "dead-letters.redrive",
            {"group": None, "dead_letters": 1, "folded": 1, "left": 0, "unproven": 1, "unproven_ids": chosen},
        ]
    ]


@pytest.mark.parametrize("chosen", [{"all": True}, {"group": "x"}])
def test_the_flag_needs_ids(order: Order, chosen: dict[str, Any]) -> None:
    assert "unproven needs ids" in order("dead-letters.redrive", declined=True, unproven=True, **chosen)["error"]


def test_it_stays_unproven_when_it_cannot_be_folded_today(
    workshop: Workshop, captured: Captured, order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge(workshop, captured, "ceo")
    parse = REGISTRY["mailgun"].parse

    def stumble(*_: Any) -> Any:
        raise UnparseableEvent("no such field")

    monkeypatch.setitem(REGISTRY, "mailgun", replace(REGISTRY["mailgun"], parse=stumble))
    assert order("dead-letters.redrive", ids=ids(store), unproven=True, apply=True)["left"] == 1
    assert store.rows(LETTERS) == [["unparseable", True]]
    # And once more, in its new form.
    assert order("dead-letters.redrive", ids=ids(store), unproven=True, apply=True)["left"] == 1
    monkeypatch.setitem(REGISTRY, "mailgun", replace(REGISTRY["mailgun"], parse=parse))

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["dead_letters"], done["left_out"]) == (0, 1)
    assert store.rows(LETTERS) == [["unparseable", True]]
    assert store.rows(STOPPED) == []


def test_the_same_content_by_a_proven_way_is_a_dead_letter_of_its_own(
    workshop: Workshop, captured: Captured, order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever comes first, the proven one must not be left out, and the unproven one must not borrow its proof."""
    forge(workshop, captured, "ceo")
    parse = REGISTRY["mailgun"].parse

    def stumble(*_: Any) -> Any:
        raise UnparseableEvent("no such field")

    monkeypatch.setitem(REGISTRY, "mailgun", replace(REGISTRY["mailgun"], parse=stumble))
    order("dead-letters.redrive", ids=ids(store), unproven=True, apply=True)
    workshop.process(record(Captured("another").envelope(event("ceo", "complained"))))
    assert sorted(store.rows(LETTERS)) == [["unparseable", False], ["unparseable", True]]
    [group] = order("dead-letters.groups")["groups"]
    assert (group["dead_letters"], group["unproven"]) == (2, 1)
    monkeypatch.setitem(REGISTRY, "mailgun", replace(REGISTRY["mailgun"], parse=parse))

    done = order("dead-letters.redrive", group=group["group_id"], apply=True)

    assert (done["new"], done["left_out"]) == (1, 1)
    assert store.rows(STOPPED) == [["ceo@example.com"]]
    assert store.rows(LETTERS) == [["unparseable", True]]


def test_an_unproven_content_that_loses_a_conflict_stays_unproven(
    workshop: Workshop, captured: Captured, order: Order, store: Store
) -> None:
    workshop.process(record(captured.envelope(event("genuine"))))
    for number in range(3):
        # The same event id, other contents.
        other = {**event("genuine"), "recipient": f"other{number}@example.com"}
        workshop.process(record(captured.envelope(other)))

    done = order("dead-letters.redrive", ids=ids(store), unproven=True, apply=True)

    assert done["conflict"] == 3
    assert store.value("select count(*) from email_events") == 1
    [[stored]] = store.rows(PEOPLE)
    marks = dict(store.rows("select (raw::jsonb) ->> 'recipient', unproven from dead_letters where kind = 'conflict'"))
    assert len(marks) == 3
    assert marks.pop("genuine@example.com", False) is False
    assert set(marks.values()) == {True}
    assert stored not in marks
    # All its contents are in the state already: nothing is left to fold.
    assert order("dead-letters.redrive", ids=ids(store), unproven=True, apply=True)["new"] == 0


def whole(text: str, *, days: float = 0) -> Record:
    return Record(record_id="r", body=text, receive_count=1, sent_at=datetime.now(UTC) - timedelta(days=days))


def bury(workshop: Workshop, monkeypatch: pytest.MonkeyPatch, *records: Record) -> None:
    """Let records come while their source is not configured: each is kept whole, and takes no claim."""
    with monkeypatch.context() as patch:
        patch.delitem(SOURCES, "mailgun")
        workshop.process(*records)


def test_a_whole_record_takes_its_claim_before_it_is_folded(
    workshop: Workshop, captured: Captured, order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    bury(workshop, monkeypatch, whole(captured.envelope(event("forged", "complained"))))
    workshop.process(record(captured.envelope(event("genuine"))))
    assert store.rows(LETTERS) == [["not_an_envelope", False]]
    before = folded(store)

    tried = order("dead-letters.redrive", all=True)
    done = order("dead-letters.redrive", all=True, apply=True)

    assert (tried["left"], done["left"], done["new"]) == (1, 1, 0)
    assert done["reasons"][0]["kind"] == "claim_conflict"
    assert folded(store) == before
    assert store.rows(LETTERS) == [["claim_conflict", True]]
    assert order("dead-letters.redrive", all=True, apply=True)["left_out"] == 1


def test_of_two_whole_records_under_one_token_one_is_folded(
    workshop: Workshop, captured: Captured, order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    bury(workshop, monkeypatch, *(whole(captured.envelope(event(name))) for name in ("a", "b", "c")))

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["new"], done["left"]) == (1, 2)
    assert store.value("select count(*) from email_events") == 1
    assert store.rows(LETTERS) == [["claim_conflict", True]] * 2
    assert store.rows("select result ->> 'new', completed_at is not null from claims") == [["1", True]]
    # The token is used now: what comes later under it is not believed.
    workshop.process(record(captured.envelope(event("late", "complained"))))
    assert store.value("select count(*) from email_events") == 1


def test_a_whole_record_that_holds_its_claim_may_be_tried_again(
    workshop: Workshop, captured: Captured, order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = captured.envelope(event("genuine"))
    bury(workshop, monkeypatch, whole(text))
    workshop.process(record(text))

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["duplicate"], done["left"], done["left_out"]) == (1, 0, 0)
    assert store.rows(LETTERS) == []


def test_a_whole_record_older_than_the_claims_needs_a_person(
    workshop: Workshop, captured: Captured, order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its token may have been used, and the claim that says so pruned."""
    bury(workshop, monkeypatch, whole(captured.envelope(event("forged", "complained")), days=31))

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["new"], done["left"]) == (0, 1)
    assert store.rows(LETTERS) == [["not_an_envelope", True]]
    assert store.rows(STOPPED) == []
    assert order("dead-letters.redrive", all=True, apply=True)["left_out"] == 1
    assert order("dead-letters.redrive", ids=ids(store), unproven=True, apply=True)["new"] == 1


def test_a_claim_that_postgres_refuses_does_not_stop_the_others(
    workshop: Workshop, captured: Captured, order: Order, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = captured.envelope(event("genuine"))
    # No row of an index is as long as this.
    huge = json.dumps({**json.loads(good), "claim_key": Random(1).randbytes(10_000).hex()})
    bury(workshop, monkeypatch, whole(good), whole(huge))

    done = order("dead-letters.redrive", all=True, apply=True)

    assert (done["new"], done["left"]) == (1, 1)
    assert store.rows(LETTERS) == [["refused_by_store", False]]


def test_a_record_of_the_dead_letter_queue_is_tried_as_process_would(
    workshop: Workshop, captured: Captured, order: Order, store: Store
) -> None:
    workshop.process(record(captured.envelope(event("genuine"))))
    before = store.rows("select * from claims"), folded(store)

    [told] = order("dead-letters.try", bodies=[captured.envelope(event("forged"))])["records"]

    # It goes back onto the queue, where its claim decides: process keeps it, and folds nothing of it.
    assert (told["result"], told["kind"]) == ("conflict", "claim_conflict")
    assert told["events"] == {"new": 0, "duplicate": 0, "conflict": 1, "dead": 0}
    assert (store.rows("select * from claims"), folded(store)) == before


def test_lists_and_groups_tell_of_it(workshop: Workshop, captured: Captured, order: Order, store: Store) -> None:
    forge(workshop, captured, "a", "b")
    unparseable(workshop)

    groups = {
        group["kind"]: (group["dead_letters"], group["unproven"]) for group in order("dead-letters.groups")["groups"]
    }
    listed = {one["kind"]: one["unproven"] for one in order("dead-letters.list")["dead_letters"]}
    shown = order("dead-letters.show", id=ids(store)[0])

    assert groups == {"claim_conflict": (2, 2), "unparseable": (1, 0)}
    assert listed == {"claim_conflict": True, "unparseable": False}
    assert shown["unproven"] is True


def test_http_leaves_it_out_too(workshop: Workshop, captured: Captured, reader: Reader, store: Store) -> None:
    forge(workshop, captured, "ceo")
    before = folded(store)
    [group] = reader.get("/v1/dead-letters")["groups"]
    [dead_letter] = reader.get("/v1/dead-letters", group=group["group_id"])["dead_letters"]
    chosen = dead_letter["dead_letter_id"]

    def redrive(**body: Any) -> Any:
        return reader.ask("POST", "/v1/dead-letters/redrive", body=body)

    assert (group["dead_letters"], group["unproven"], dead_letter["unproven"]) == (1, 1, True)
    assert reader.get(f"/v1/dead-letters/{chosen}")["unproven"] is True
    for choice in ({"all": True}, {"group": group["group_id"]}, {"ids": [chosen]}):
        for apply in (False, True):
            told = redrive(**choice, apply=apply).body
            assert (told["dead_letters"], told["left_out"], "authenticity" in told["left_out_reason"]) == (0, 1, True)
    for wrong in ({"all": True}, {"group": group["group_id"]}, {}):
        refused = redrive(**wrong, unproven=True, apply=True)
        assert (refused.status, "unproven needs ids" in refused.body["error"]) == (400, True)
    assert redrive(ids=[chosen], unproven="yes").status == 400
    assert folded(store) == before

    assert redrive(ids=[chosen], unproven=True, apply=True).body["new"] == 1

    assert store.rows(STOPPED) == [["ceo@example.com"]]
    assert store.value("select details ->> 'unproven' from audit_log") == "1"


def test_older_dead_letters_of_the_kind_are_marked_by_the_migration(store: Store) -> None:
    store.rows(
        """insert into dead_letters (dead_letter_id, kind, reason, source, provider, raw, received_at)
        select kind || provider, kind, 'x', provider, provider, '[]', now()
        from unnest(array['claim_conflict', 'unparseable']) kind, unnest(array['mailgun', 'sesmetric']) provider"""
    )
    text = files("mailfold.store").joinpath("migrations/0006_security.sql").read_text("utf-8")
    [statement] = [part for part in text.split(";") if "update dead_letters" in part]

    store.rows(statement)

    assert store.rows("select dead_letter_id from dead_letters where unproven") == [["claim_conflictmailgun"]]


def test_the_raw_that_is_kept_is_the_event(workshop: Workshop, captured: Captured, store: Store) -> None:
    forge(workshop, captured, "ceo")

    assert json.loads(store.value("select raw from dead_letters")) == [event("ceo", "complained")]
