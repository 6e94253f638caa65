"""The suppression list manually: look, add, lift, explain, import and export, through the real operate function."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.steps.sweep import sweep
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry
from tests.integration.conftest import Store, Workshop
from tests.support.records import envelope, raw, record

Order = Callable[..., dict[str, Any]]

ANN = "ann@example.com"


def bounce(event_id: str = "e1", at: str = "2026-01-01T00:00:00Z", **data: Any) -> Any:
    return raw(event_id, "bounce", at=at, bounce_type="Permanent", **data)


def row(address: str = ANN, **given: Any) -> dict[str, Any]:
    told = {"line": 2, "address": address, "scope": "", "reason": "bounce", "at": "2025-06-01T00:00:00Z"}
    return {**told, "detail": "550 no such user", "raw": {"email": address}, **given}


def the_scope(order: Order, address: str = ANN) -> dict[str, Any]:
    [found] = order("suppressions.explain", address=address)["scopes"]
    return dict(found)


def test_what_a_person_stops_stays_stopped_until_a_person_lifts_it(workshop: Workshop, order: Order) -> None:
    order("suppressions.add", address=" Ann@Example.com ", reason="asked on the telephone")
    workshop.process(record(envelope(raw("e1", "resubscribe", at="2099-01-01T00:00:00Z"))))
    suppressed = the_scope(order)

    order("suppressions.lift", address=ANN, reason="asked again", by="bob")

    lifted = the_scope(order)
    assert (suppressed["rule"], suppressed["suppressed"]) == ("manual", True)
    assert "ann stopped it manually" in suppressed["because"]
    assert "asked on the telephone" in suppressed["because"]
    assert (lifted["suppressed"], lifted["rule"], lifted["since"]) == (False, None, None)


def test_a_lift_says_who_lifted_and_why_and_a_newer_bounce_stops_again(workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(bounce())))
    order("suppressions.lift", address=ANN, reason="mailbox repaired", by="bob")
    lifted = the_scope(order)

    workshop.process(record(envelope(bounce("e2", at="2099-01-01T00:00:00Z"))))

    again = the_scope(order)
    assert (lifted["suppressed"], lifted["lifted"]["by"], lifted["lifted"]["why"]) == (False, "bob", "mailbox repaired")
    assert (again["suppressed"], again["rule"]) == (True, "hard_bounce")
    assert again["since"].startswith("2099-01-01")
    assert again["first_suppress"]["occurred_at"].startswith("2026-01-01")


def test_decisions_leave_a_line_without_the_address(store: Store, order: Order) -> None:
    order("suppressions.add", address=ANN, reason="asked")
    order("suppressions.lift", address=ANN, reason="asked again", by="bob")

    decisions = order("suppressions.explain", address=ANN)["decisions"]

    assert [(one["by"], one["action"]) for one in decisions] == [
        ("bob", "suppressions.lift"),
        ("ann", "suppressions.add"),
    ]
    assert store.value(f"select count(*) from audit_log a where to_jsonb(a)::text like '%{ANN}%'") == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"address": ANN, "reason": "why not"}, "nothing stops this address in the scope ''"),
        ({"address": ANN}, "reason must be a text"),
        ({"address": ANN, "reason": " "}, "reason must be a text"),
        ({"address": "ann", "reason": "r"}, "address must be an address"),
    ],
)
def test_a_lift_of_nothing_is_declined(order: Order, arguments: dict[str, Any], sentence: str) -> None:
    assert sentence in order("suppressions.lift", declined=True, **arguments)["error"]


def test_a_lift_in_the_wrong_scope_says_which_is_stopped(order: Order) -> None:
    order("suppressions.add", address=ANN, reason="r", scope="group:10")

    assert "it is stopped in 'group:10'" in order("suppressions.lift", declined=True, address=ANN, reason="r")["error"]


@pytest.mark.parametrize(
    ("kind", "data", "rule"),
    [
        ("bounce", {"bounce_type": "Permanent"}, "hard_bounce"),
        ("complaint", {}, "complaint"),
        ("unsubscribe", {}, "unsubscribe"),
    ],
)
def test_each_rule_is_explained_with_its_evidence(
    workshop: Workshop, order: Order, kind: str, data: dict[str, Any], rule: str
) -> None:
    workshop.process(record(envelope(raw("e1", kind, reason="said the server", **data))))

    explained = the_scope(order)

    assert explained["rule"] == rule
    assert "main said so on 2026-01-01" in explained["because"]
    assert explained["because"].endswith("said the server")
    assert explained["first_suppress"]["event_id"] == "sesmetric:e1"


def test_soft_bounces_are_explained_by_their_limit_and_their_events(
    store: Store, workshop: Workshop, order: Order
) -> None:
    soft = [raw(f"e{n}", "bounce", at=f"2026-01-0{n}T00:00:00Z", bounce_type="Transient") for n in range(1, 6)]
    workshop.process(record(envelope(*soft)))
    database = Database(store.url("mailfold_sweep"))
    sweep(database, Telemetry("sweep"), soft_limit=5, publish=True)
    database.close()

    explained = the_scope(order)

    assert (explained["rule"], explained["since"][:10]) == ("soft_bounces", "2026-01-05")
    assert "5 soft bounces in a row from 2026-01-01" in explained["because"]
    assert explained["soft_suppress"]["event_ids"] == [f"sesmetric:e{n}" for n in range(1, 6)]
    assert len(order("suppressions.explain", address=ANN)["events"]) == 5


def test_the_explanation_outlives_the_events(store: Store, workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(bounce(reason="no such user"))))
    before = the_scope(order)

    store.rows("delete from email_events")

    assert the_scope(order) == before
    assert before["suppressed"]


def test_the_list_comes_in_pages_and_by_reason(workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(*(bounce(f"e{n}", recipient=f"{n}@example.com") for n in range(5)))))
    order("suppressions.add", address="3@example.com", reason="r")
    order("suppressions.lift", address="1@example.com", reason="r")

    seen, after = [], None
    while True:
        page = order("suppressions.list", most=2, after=after)
        seen += page["suppressions"]
        after = page["next"]
        if after is None:
            break
    bounced = order("suppressions.list", reason="bounced", active=True)["suppressions"]

    assert [(one["address"][0], one["suppressed"]) for one in seen] == [
        ("0", True),
        ("1", False),
        ("2", True),
        ("3", True),
        ("4", True),
    ]
    assert [one["address"][0] for one in bounced] == ["0", "2", "4"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [({"reason": "x"}, "reason must be one of"), ({"after": ["x"]}, "after must be"), ({"most": 9999}, "most must")],
)
def test_a_page_that_cannot_be_is_declined(order: Order, arguments: dict[str, Any], sentence: str) -> None:
    assert sentence in order("suppressions.list", declined=True, **arguments)["error"]


def test_an_import_is_foreseen_then_folded_and_twice_adds_nothing(store: Store, order: Order) -> None:
    rows = [row(), row("bob@example.com", reason="unsubscribe", scope="group:10")]

    foreseen = order("suppressions.import", format="sendgrid-bounces", rows=rows)
    nothing = store.value("select count(*) from email_events")
    first = order("suppressions.import", format="sendgrid-bounces", rows=rows, apply=True)
    state = store.rows("select * from suppressions order by 1"), store.rows("select topic, key from outbox order by 2")
    second = order("suppressions.import", format="sendgrid-bounces", rows=rows, apply=True)
    known = order("suppressions.import", format="sendgrid-bounces", rows=rows)

    assert (foreseen["new"], foreseen["known"], foreseen["suppressed"], nothing) == (2, 0, 0, 0)
    assert (first["new"], second["new"], second["known"]) == (2, 0, 2)
    assert (known["known"], known["suppressed"]) == (2, 2)
    assert store.rows("select address, scope from suppressed order by 1") == [
        [ANN, ""],
        ["bob@example.com", "group:10"],
    ]
    assert (
        store.rows("select * from suppressions order by 1"),
        store.rows("select topic, key from outbox order by 2"),
    ) == state


def test_an_import_joins_what_events_said_in_either_order(store: Store, workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(raw("e1", "resubscribe", at="2025-07-01T00:00:00Z"))))

    order("suppressions.import", format="ses", rows=[row()], apply=True)

    lifted = the_scope(order)
    assert (lifted["suppressed"], lifted["lifted"]["by"]) == (False, "main: resubscribed")
    assert lifted["first_suppress"]["source"] == "import"
    assert store.rows("select type, bounce_class, payload from email_events where source = 'import'") == [
        ["bounced", "hard", {"email": ANN}]
    ]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"address": "nobody"}, "line 2: address must be an address"),
        ({"address": "a b@example.com"}, "line 2: address must be an address"),
        ({"reason": "dislike"}, "line 2: reason must be one of"),
        ({"at": "yesterday"}, "line 2: at must be a time"),
        ({"at": "2999-01-01T00:00:00Z"}, "line 2: at must be a time that is not in the future"),
        ({"at": None}, "line 2: at must be a time that is not in the future"),
        ({"detail": "nul\0"}, "line 2: holds a character"),
    ],
)
def test_one_bad_row_declines_its_page_and_nothing_is_written(
    store: Store, order: Order, given: dict[str, Any], sentence: str
) -> None:
    rows = [row("good@example.com"), row(**given)]

    answer = order("suppressions.import", declined=True, format="ses", rows=rows, apply=True)

    assert sentence in answer["error"]
    assert store.value("select count(*) from email_events") == 0


def test_imported_events_do_not_disturb_the_rates(store: Store, order: Order) -> None:
    rows = [row(f"{n}@example.com") for n in range(1_000)]
    order("suppressions.import", format="ses", rows=rows, apply=True)
    database = Database(store.url("mailfold_watch"))

    with database.transaction() as tx:
        watched = tx.run("watch", {"now": datetime.now(UTC).isoformat()})

    database.close()
    assert {source for source, *_ in watched} == {"import"}


def test_an_export_holds_what_is_stopped_now_and_is_noted_once(store: Store, workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(*(bounce(f"e{n}", recipient=f"{n}@example.com") for n in range(3)))))
    order("suppressions.lift", address="1@example.com", reason="r")

    first = order("suppressions.export", most=1)
    second = order("suppressions.export", most=1, after=first["next"])

    assert first["total"] == 2
    assert [page["suppressions"][0]["address"] for page in (first, second)] == ["0@example.com", "2@example.com"]
    assert store.value("select count(*) from audit_log where action = 'suppressions.export'") == 1
