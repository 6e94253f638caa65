"""query: may I send to this address, who must not be mailed, and a person's own decision."""

from typing import Any

import pytest

from tests.integration.conftest import Store, Workshop
from tests.integration.test_query import hard, walk
from tests.support.reader import Reader
from tests.support.records import envelope, record


class TestCheck:
    """May I send to this address?"""

    @pytest.fixture(autouse=True)
    def _stops(self, workshop: Workshop) -> None:
        workshop.process(record(envelope(hard("e1", "hard@example.com"))))

    def check(self, reader: Reader, *addresses: str, **more: Any) -> Any:
        reply = reader.ask("POST", "/v1/suppressions/check", body={"addresses": list(addresses), **more})
        assert reply.status == 200, reply.content
        return reply.body["results"]

    def test_each_address_is_answered_in_its_place(self, reader: Reader) -> None:
        given = ("bob@example.com", " HARD@example.com", "hard@example.com", "no address", "\x00\ud800@x")

        results = self.check(reader, *given)

        assert [result["address"] for result in results] == list(given)
        assert [result["suppressed"] for result in results] == [False, True, True, False, False]
        assert [result["reason"] for result in results] == [None, "bounced", "bounced", None, None]

    def test_a_stop_in_a_scope_counts_in_that_scope_only(self, reader: Reader, store: Store) -> None:
        store.rows("update suppressions set scope = 'group:10'")

        [in_all], [in_scope], [elsewhere] = (
            self.check(reader, "hard@example.com", **more) for more in ({}, {"scope": "group:10"}, {"scope": "other"})
        )

        assert [in_all["suppressed"], in_scope["suppressed"], elsewhere["suppressed"]] == [False, True, False]
        assert in_all["scopes"] == ["group:10"]

    def test_a_lifted_stop_does_not_count(self, reader: Reader, store: Store) -> None:
        store.rows("update suppressions set last_lift_at = last_suppress_at + interval '1 second'")

        assert [result["suppressed"] for result in self.check(reader, "hard@example.com")] == [False]

    def test_a_thousand_are_one_statement(self, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
        statements: list[str] = []
        run = reader.module.database.run
        monkeypatch.setattr(
            reader.module.database, "run", lambda name, given: (statements.append(name), run(name, given))[1]
        )

        results = self.check(reader, *(f"a{n}@example.com" for n in range(999)), "hard@example.com")

        assert [result["suppressed"] for result in results] == [False] * 999 + [True]
        assert [name for name in statements if not name.startswith("token_")] == ["read_check"]

    def test_more_than_a_thousand_are_refused(self, reader: Reader) -> None:
        reply = reader.ask("POST", "/v1/suppressions/check", body={"addresses": ["a@example.com"] * 1001})

        assert reply.status == 400

    def test_both_erased_forms_agree(self, store: Store) -> None:
        addresses = "array['Ann@Example.com', 'bob@example.com', 'ä@example.com']"

        assert store.value(
            f"select erased_forms({addresses}) = (select array_agg(erased_form(a)) from unnest({addresses}) a)"
        )


class TestByHand:
    """A person's own decision."""

    def test_a_stop_and_a_lift_by_hand(self, reader: Reader, store: Store) -> None:
        put = reader.ask("PUT", "/v1/suppressions/Bob@example.com", body={"reason": "asked on the phone"})
        between = reader.get("/v1/recipients/bob@example.com")["may_be_mailed"]
        lifted = reader.ask("DELETE", "/v1/suppressions/bob@example.com", body={"reason": "changed his mind"})

        assert (put.status, put.body["suppressed"]) == (200, True)
        assert (lifted.status, lifted.body["suppressed"]) == (200, False)
        assert not between
        assert reader.get("/v1/recipients/bob@example.com")["may_be_mailed"]
        assert store.rows("select topic from outbox order by outbox_id") == [
            ["address_suppressed"],
            ["suppression_lifted"],
        ]

    def test_every_change_is_noted_without_the_address(self, reader: Reader, store: Store) -> None:
        reader.ask("PUT", "/v1/suppressions/bob@example.com", body={"scope": "group:1"})
        reader.ask("DELETE", "/v1/suppressions/bob@example.com", body={"scope": "group:1"})

        rows = store.rows(
            "select by_whom, action, subject = erased_form('bob@example.com') from audit_log order by 1, 2"
        )

        assert rows == [["token:ann", "suppressions.lift", True], ["token:ann", "suppressions.suppress", True]]
        assert "bob" not in str(store.rows("select * from audit_log"))

    def test_what_was_never_stopped_cannot_be_lifted(self, reader: Reader, store: Store) -> None:
        assert reader.ask("DELETE", "/v1/suppressions/bob@example.com").status == 404
        assert store.rows("select * from suppressions") == store.rows("select * from audit_log") == []

    def test_an_erased_person_stays_erased(self, workshop: Workshop, reader: Reader, store: Store) -> None:
        workshop.process(record(envelope(hard("e1"))))
        store.rows("update suppressions set address = erased_form(address)")

        reply = reader.ask("DELETE", "/v1/suppressions/ann@example.com")

        assert reply.body["suppressed"] is False
        assert store.rows("select address like 'erased:%' from suppressions") == [[True]]

    def test_a_later_decision_stands(self, reader: Reader, store: Store) -> None:
        reader.ask("PUT", "/v1/suppressions/bob@example.com")
        store.rows("update suppressions set manual_at = now() + interval '1 hour'")

        assert reader.ask("DELETE", "/v1/suppressions/bob@example.com").status == 409


def test_suppressions_are_listed_newest_first_in_pages(workshop: Workshop, reader: Reader) -> None:
    bounces = [hard(f"e{n}", f"a{n}@example.com", at=f"2026-01-0{n}T00:00:00Z") for n in range(1, 8)]
    workshop.process(record(envelope(*bounces)))
    reader.ask("PUT", "/v1/suppressions/manual@example.com")
    reader.ask("DELETE", "/v1/suppressions/a3@example.com")

    pages = list(walk(reader, "/v1/suppressions", "suppressions", limit=3))

    expected = ["manual", *(f"a{n}" for n in range(7, 0, -1))]
    assert [item["address"].partition("@")[0] for page in pages for item in page] == expected
    active = reader.get("/v1/suppressions", active=True)["suppressions"]
    assert {item["address"].partition("@")[0] for item in active} == {*expected} - {"a3"}
    manual = reader.get("/v1/suppressions", reason="manual")["suppressions"]
    assert [item["address"] for item in manual] == ["manual@example.com"]
