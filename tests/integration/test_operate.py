"""operate: orders of a person, through the real handler and under its own role."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.tokens import token_hash
from tests.integration.conftest import Store, Workshop
from tests.support.records import envelope, raw, record

Order = Callable[..., dict[str, Any]]


def test_a_message_is_shown_with_its_status_and_its_timeline(workshop: Workshop, order: Order) -> None:
    late = raw("e2", "delivery", at="2026-01-01T00:05:00Z")
    workshop.process(record(envelope(late, raw("e1", "bounce", bounce_type="Permanent"))))

    shown = order("message.show", message_id="m1", raw=True)

    assert [row["type"] for row in shown["recipients"]] == ["bounced"]
    assert [event["type"] for event in shown["events"]] == ["bounced", "delivered"]
    assert shown["events"][1]["raw"] == late


def test_one_event_of_a_message_is_shown_alone(workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(raw("e1"), raw("e2", "open"))))

    [event] = order("message.show", message_id="m1", event="sesmetric:e2", raw=True)["events"]
    unknown = order("message.show", message_id="m1", event="sesmetric:e3", declined=True)

    assert (event["event_id"], event["raw"]["id"]) == ("sesmetric:e2", "e2")
    assert unknown["error"] == "this message has no stored event of this id"


@pytest.mark.parametrize("until", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "infinity", "", 1])
def test_a_time_that_python_cannot_hold_is_declined(order: Order, until: Any) -> None:
    order("dead-letters.redrive", all=True, until=until, declined=True)


def test_the_raw_stays_where_it_is_unless_it_is_asked_for(workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(raw("e1"))))

    [event] = order("message.show", message_id="m1")["events"]

    assert "raw" not in event


def test_an_address_that_bounced_must_not_be_mailed(workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(raw("e1", "bounce", bounce_type="Permanent"))))

    suppressed = order("recipient.show", address=" Ann@Example.com ")
    unknown = order("recipient.show", address="bob@example.com")

    assert not suppressed["may_be_mailed"]
    assert [row["first_suppress"]["event_id"] for row in suppressed["suppressions"]] == [
        suppressed["events"][0]["event_id"]
    ]
    assert unknown["may_be_mailed"]
    assert unknown["suppressions"] == unknown["events"] == []


def test_totals_are_the_same_before_and_after_prune(store: Store, workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(raw("e1"), raw("e2", "bounce", bounce_type="Permanent"))))
    before = order("totals", days=3650)

    store.rows(
        """with gone as (delete from email_events where type = 'delivered' returning *)
        insert into daily_totals select occurred_at::date, source, type, '', 1 from gone"""
    )

    assert order("totals", days=3650) == before
    assert sum(row["events"] for row in before["totals"]) == 2


@pytest.mark.parametrize(
    ("command", "arguments", "sentence"),
    [
        ("nonsense", {}, "no such command"),
        ("message.show", {}, "message_id must be a text"),
        ("message.show", {"message_id": "unknown"}, "nothing is stored about this message"),
        ("recipient.show", {"address": "ann"}, "address must be an address"),
        ("totals", {"days": 0}, "days must be a whole number from 1 to 3650"),
        ("totals", {"days": True}, "days must be a whole number from 1 to 3650"),
    ],
)
def test_a_mistake_is_declined_with_a_sentence(
    order: Order, command: str, arguments: dict[str, Any], sentence: str
) -> None:
    answer = order(command, declined=True, **arguments)

    assert sentence in answer["error"]
    assert answer["again"] is False


def test_a_database_that_is_away_is_worth_another_try(order: Order, store: Store) -> None:
    store.rows("alter view current_status rename to elsewhere")

    assert order("message.show", declined=True, message_id="m1")["again"] is True


class TestTokens:
    """Who may ask the query API."""

    def test_a_token_is_shown_once_and_kept_as_a_digest(self, order: Order, store: Store) -> None:
        made = order("tokens.add", name="checkout", scope="operate", days=3)

        [listed] = order("tokens.list")["tokens"]

        assert made["scopes"] == listed["scopes"] == ["operate"]
        assert made["sources"] is listed["sources"] is None
        assert listed["expires_at"] is not None
        assert "token_hash" not in listed
        assert store.value("select token_hash from api_tokens") == token_hash(made["token"])
        assert made["token"] not in str(store.rows("select * from api_tokens, audit_log"))
        assert store.rows("select by_whom, action, details ->> 'name' from audit_log") == [
            ["ann", "tokens.add", "checkout"]
        ]

    def test_a_revoked_token_may_be_made_anew_and_another_may_not(self, order: Order) -> None:
        first = order("tokens.add", name="checkout")
        order("tokens.add", declined=True, name="checkout")
        order("tokens.revoke", name="checkout")
        order("tokens.revoke", declined=True, name="checkout")
        second = order("tokens.add", name="checkout")
        third = order("tokens.add", name="checkout", replace=True)

        assert len({made["token"] for made in (first, second, third)}) == 3
        assert [token["revoked_at"] for token in order("tokens.list")["tokens"]] == [None]

    def test_a_token_is_narrow_and_ends_unless_more_is_asked_for(self, order: Order) -> None:
        now = datetime.now(UTC)
        usual = order("tokens.add", name="checkout")
        wide = order("tokens.add", name="audit", scope=["raw", "check"], source=["ses", "main"], no_expiry=True)

        listed = {token["name"]: token for token in order("tokens.list")["tokens"]}

        assert (usual["scopes"], usual["sources"]) == (["check"], None)
        assert 89 < (datetime.fromisoformat(listed["checkout"]["expires_at"]) - now).days + 1 <= 91
        assert (wide["scopes"], wide["sources"], wide["expires_at"]) == (["check", "raw"], ["main", "ses"], None)
        assert {name: listed["audit"][name] for name in ("scopes", "sources", "expires_at")} == {
            "scopes": ["check", "raw"],
            "sources": ["main", "ses"],
            "expires_at": None,
        }

    def test_a_token_that_is_replaced_keeps_nothing_of_the_old_one(self, order: Order) -> None:
        order("tokens.add", name="audit", scope="raw", source="main", no_expiry=True)
        order("tokens.add", name="audit", replace=True)

        [listed] = order("tokens.list")["tokens"]

        assert (listed["scopes"], listed["sources"]) == (["check"], None)
        assert listed["expires_at"] is not None

    @pytest.mark.parametrize(
        "arguments",
        [
            {},
            {"name": "Ann"},
            {"name": "a b"},
            {"name": "a", "scope": "all"},
            {"name": "a", "scope": ["check", "all"]},
            {"name": "a", "scope": [1]},
            {"name": "a", "scope": {}},
            {"name": "a", "scope": []},
            {"name": "a", "source": []},
            {"name": "a", "source": ""},
            {"name": "a", "source": {"main": True}},
            {"name": "a", "days": -1},
            {"name": "a", "days": 0},
            {"name": "a", "days": 3_651},
            {"name": "a", "days": 10, "no_expiry": True},
            {"name": "a", "source": "nowhere"},
            {"name": "a", "source": ["main", "nowhere"]},
            {"name": "a", "scope": "operate", "source": "main"},
        ],
        ids=str,
    )
    def test_a_mistake_makes_no_token(self, order: Order, arguments: dict[str, Any]) -> None:
        order("tokens.add", declined=True, **arguments)

        assert order("tokens.list")["tokens"] == []
