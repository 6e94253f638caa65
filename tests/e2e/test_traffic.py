"""The demo's traffic is as bad as it claims, and its audit sees what it must see."""

import json
from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any

import pg8000.native
import pytest

from cli.local_stack import Stack
from local import audit, demo
from local.demo import Demo
from local.traffic import BODY_UNPROVEN, FORGERIES, TIME_UNPROVEN, Plan, forgeries, plan
from mailfold import providers
from mailfold.providers import REGISTRY
from samples import sampler

NOW = datetime(2026, 1, 2, tzinfo=UTC)
RUN = "demo0001"


def make_plan(source: str = "sendgrid", events: int = 200, seed: int = 1) -> Plan:
    return plan(
        source=source,
        sampler=sampler(source),
        events=events,
        run=RUN,
        rng=Random(seed),
        now=NOW,
        forgeries=() if source == "ses" else forgeries(source),
    )


def marker_of(source: str, raw: Any) -> str:
    for key in sampler(source).MARKER:
        raw = raw[int(key)] if isinstance(raw, list) else raw[key]
    return str(raw)


@pytest.mark.parametrize("source", ["sendgrid", "ses", "sesmetric"])
def test_each_event_is_sent_and_some_more_than_once(source: str) -> None:
    made = make_plan(source)

    sent = Counter(marker_of(source, raw) for request in made.honest for raw in request.events)

    assert sent.keys() == made.markers
    assert sent.total() - len(made.markers) == made.copies > 20


def test_a_repeated_request_and_a_regrouped_event_are_both_there() -> None:
    made = make_plan()

    requests = Counter(json.dumps(request.events) for request in made.honest)
    groups = {json.dumps(request.events) for request in made.honest}

    assert max(requests.values()) > 1
    company = Counter(json.dumps(raw) for group in groups for raw in json.loads(group))
    assert max(company.values()) > 1


def test_events_do_not_arrive_in_the_order_they_happened() -> None:
    times = [raw["timestamp"] for request in make_plan().honest for raw in request.events]

    assert times != sorted(times)


def test_each_forgery_is_tried_with_markers_of_its_own() -> None:
    made = make_plan()

    forged = [request for request in made.requests if request.forgery]

    assert {request.forgery for request in forged} == set(FORGERIES)
    assert {marker_of("sendgrid", request.events[0]) for request in forged} == made.forged_markers
    assert not made.markers & made.forged_markers


def test_a_source_without_keys_has_no_forgeries() -> None:
    assert make_plan("ses").forged_markers == frozenset()


def test_the_same_seed_plans_the_same_traffic() -> None:
    assert make_plan(seed=7) == make_plan(seed=7) != make_plan(seed=8)


def test_a_stale_request_is_tried_wherever_the_provider_has_a_tolerance() -> None:
    without = {name for name in REGISTRY if not hasattr(getattr(providers, name), "TOLERANCE_S")}

    assert without == TIME_UNPROVEN
    assert REGISTRY.keys() > BODY_UNPROVEN


def store(database: pg8000.native.Connection, event_id: str, raw: Any) -> None:
    database.run(
        "insert into email_events"
        " (event_id, fingerprint, source, provider, kind, type, scope, occurred_at, received_at, machine, payload)"
        " values (:id, '', 'sendgrid', 'sendgrid', 'open', 'opened', '', now(), now(), false,"
        " cast(:raw as jsonb))",
        id=event_id,
        raw=json.dumps(raw),
    )


class TestAudit:
    """Each fault, put into the database manually."""

    @pytest.fixture
    def made(self, database: pg8000.native.Connection) -> Plan:
        made = make_plan(events=20)
        raws = {marker_of("sendgrid", raw): raw for request in made.honest for raw in request.events}
        database.run("begin")
        for marker, raw in raws.items():
            store(database, f"audit:{marker}", raw)
        return made

    def line(self, database: pg8000.native.Connection, made: Plan, refused: int | None = None) -> audit.Line:
        count = len(made.forged_markers) if refused is None else refused
        found = audit.audit_source(database, made, sampler("sendgrid").MARKER, RUN, count)
        database.run("rollback")
        return found

    def test_once_each_is_clean(self, database: pg8000.native.Connection, made: Plan) -> None:
        line = self.line(database, made)

        assert line.clean
        assert (line.sent, line.stored, line.absorbed) == (20, 20, made.copies)

    def test_a_missing_row_is_lost(self, database: pg8000.native.Connection, made: Plan) -> None:
        database.run("delete from email_events where event_id = :id", id=f"audit:{min(made.markers)}")

        line = self.line(database, made)

        assert (line.lost, line.stored, line.clean) == (1, 19, False)

    def test_a_second_row_of_one_event_is_doubled(self, database: pg8000.native.Connection, made: Plan) -> None:
        store(database, "audit:again", made.honest[0].events[0])

        line = self.line(database, made)

        assert (line.doubled, line.absorbed, line.clean) == (1, made.copies - 1, False)

    def test_a_stored_forgery_is_accepted(self, database: pg8000.native.Connection, made: Plan) -> None:
        forged = next(request for request in made.requests if request.forgery)
        store(database, "audit:forged", forged.events[0])

        line = self.line(database, made)

        assert (line.accepted, line.clean) == (1, False)

    def test_a_forgery_that_was_not_refused_is_seen(self, database: pg8000.native.Connection, made: Plan) -> None:
        assert not self.line(database, made, refused=len(made.forged_markers) - 1).clean

    def test_a_dead_letter_is_seen(self, database: pg8000.native.Connection, made: Plan) -> None:
        database.run(
            "insert into dead_letters (dead_letter_id, kind, reason, source, raw, received_at)"
            " values ('audit', 'event', 'test', 'sendgrid', :raw, now())",
            raw=json.dumps(made.honest[0].events[0]),
        )

        line = self.line(database, made)

        assert (line.dead, line.clean) == (1, False)


def test_a_database_that_swallows_events_fails_the_demo(
    stack: Stack, database: pg8000.native.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "STALL_SECONDS", 3.0)
    database.run("create function swallow() returns trigger language plpgsql as $$ begin return null; end $$")
    database.run(
        "create trigger swallow before insert on email_events for each row"
        " when (new.source = 'ses' and new.event_id ~ '[0-7]$') execute function swallow()"
    )
    try:
        outcome = Demo(stack, events=300, seed=3).run()
    finally:
        database.run("drop trigger swallow on email_events")
        database.run("drop function swallow")

    lost = {line.source: line.lost for line in outcome.lines}
    assert lost.pop("ses") > 0
    assert set(lost.values()) == {0}
    assert not outcome.clean
    assert "NOT exactly once" in demo.report(outcome)
