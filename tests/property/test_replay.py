"""Folded with a wrong mapping and replayed with the right one, the tables are those of the right one from the start."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mailfold.errors import UnparseableEvent
from mailfold.events import BounceClass, Effect, Event, EventType, Raw
from mailfold.fold import SOFT_LIMIT
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.retention import DEFAULT_DAYS
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.operate.replay import replay
from mailfold.store import connection
from mailfold.store.connection import Database
from mailfold.store.queries import query
from mailfold.telemetry import Telemetry
from tests.property.histories import Fact, History, histories
from tests.property.pipeline import Pipeline, marks
from tests.property.reference import SOURCES, actual, expected

MARKS = marks()
#: What the events decide. An address that sweep has released leaves an empty row behind, which says nothing.
DERIVED = {
    "email_events": "select to_jsonb(e) from email_events e order by event_id",
    "message_status": "select to_jsonb(s) from message_status s order by message_id, recipient, type, bounce_class",
    "suppressions": "select to_jsonb(s) from suppressions s"
    " where coalesce(last_suppress_at, last_lift_at, soft_suppress_at) is not null order by address, scope",
}
TYPES = tuple(EventType)

quick = settings(
    max_examples=100,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)


def misread(event: Event, seed: int) -> Event:
    """Return an event as a wrong mapping might have it, in any of the fields that an adapter decides."""
    if seed % 4 == 0:
        # By chance alone there would hardly ever be a row of soft bounces that is none.
        return replace(event, type=EventType.BOUNCED, bounce_class=BounceClass.SOFT, effect=None, message_fault=False)
    # By what is the same whatever mark the history bears, so that a failure can be repeated.
    rng = Random(f"{seed} {event.kind} {event.occurred_at} {(event.recipient or '').partition('-')[2]}")
    wrong = {
        "type": lambda: {"type": rng.choice(TYPES), "bounce_class": None},
        "class": lambda: {"type": EventType.BOUNCED, "bounce_class": rng.choice(list(BounceClass))},
        "effect": lambda: {"effect": rng.choice([None, *Effect])},
        "scope": lambda: {"scope": rng.choice(["", "group:1", "group:9"])},
        "message": lambda: {"message_id": None},
        "recipient": lambda: {"recipient": event.recipient and event.recipient.replace("ann", "bob")},
        "time": lambda: {"occurred_at": datetime(2026, 1, 1, 0, 0, rng.randrange(3), tzinfo=UTC)},
        "reason": lambda: {"reason": rng.choice([None, "?"])},
        "blame": lambda: {"message_fault": not event.message_fault},
    }
    changes: dict[str, Any] = {}
    for name in rng.sample(sorted(wrong), rng.randrange(4)):
        changes |= wrong[name]()
    return replace(event, **changes)


@contextlib.contextmanager
def misreading(seed: int) -> Iterator[None]:
    """Let every adapter misread, each raw in the same way whenever it comes."""

    def flawed(name: str) -> Any:
        def parse(raw: Raw, origin: Origin) -> list[Event]:
            events = REGISTRY_PARSE[name](raw, origin)
            return [misread(event, seed) for event in events]

        return replace(REGISTRY[name], parse=parse)

    with patch.dict(REGISTRY, {name: flawed(name) for name in SOURCES}):
        yield


REGISTRY_PARSE = {name: REGISTRY[name].parse for name in SOURCES}


def without_conflicts(history: History) -> History:
    """Give each event one content: what lost a conflict is no stored event, and keeps its part in the state."""
    first: dict[str, Fact] = {}
    facts = []
    for fact in history.facts:
        origin = Origin(source=SOURCES[fact.source], received_at=datetime(2026, 1, 1, tzinfo=UTC), headers={})
        try:
            [event] = REGISTRY[fact.source].parse(fact.raw(""), origin)
        except UnparseableEvent:
            facts.append(fact)
        else:
            facts.append(first.setdefault(event.event_id, fact))
    return History(tuple(facts), history.batches)


@pytest.fixture(scope="session")
def operate(pipeline: Pipeline) -> Iterator[Database]:
    """The database as operate is let in."""
    database = Database(pipeline.process_url.replace("mailfold_process@", "mailfold_operate@"))
    database.execute("set synchronous_commit = off")
    yield database
    database.close()


def replay_all(database: Database, *, most: int) -> None:
    office = OperateContext(
        database=database,
        sources=SOURCES,
        topics={},
        publish=False,
        soft_limit=SOFT_LIMIT,
        retention=DEFAULT_DAYS,
        by="property",
        now=datetime.now(UTC),
        remaining_ms=lambda: 60_000,
        telemetry=Telemetry("operate"),
    )
    for source in SOURCES:
        given = {"source": source, "most": most, "apply": True}
        after = replay(office, Arguments(given))["next"]
        while after:
            after = replay(office, Arguments({**given, "after": after}))["next"]


def derived(pipeline: Pipeline) -> dict[str, Any]:
    return {table: pipeline.admin.execute(sql) for table, sql in DERIVED.items()}


def empty(pipeline: Pipeline) -> None:
    """Begin again, with less effort for a few rows than truncate takes."""
    pipeline.admin.execute(
        "set synchronous_commit = off; delete from email_events; delete from message_status; delete from suppressions;"
        " delete from claims; delete from dead_letters; delete from outbox; delete from daily_totals"
    )


def any_replay(pipeline: Pipeline, database: Database, history: History, rng: Random) -> None:
    """Fold wrongly, replay rightly, and compare with the reference and with a store that was never wrong."""
    history, mark = without_conflicts(history), next(MARKS)
    empty(pipeline)
    with misreading(rng.randrange(2**32)):
        pipeline.deliver(history, mark)
        pipeline.sweep()
    replay_all(database, most=rng.randint(1, 6))
    pipeline.sweep()
    found, wanted = actual(pipeline.admin, mark), expected(history.facts, mark)
    for table in ("events", "totals", "statuses", "suppressions", "soft stops"):
        assert found[table] == wanted[table], table
    replayed = derived(pipeline)
    empty(pipeline)
    pipeline.deliver(history, mark)
    pipeline.sweep()
    assert replayed == derived(pipeline)


@quick
@given(history=histories(largest=12), seed=st.integers(0, 2**32))
def test_any_replay(pipeline: Pipeline, operate: Database, history: History, seed: int) -> None:
    any_replay(pipeline, operate, history, Random(seed))


FLAWS = {
    "statuses stay": ("replay_statuses", "t.first_at is null", "false and t.first_at is null"),
    "evidence stays": ("replay_suppressions", "where not exists (", "where true or not exists ("),
    "the store is not asked": ("replay_suppressions", "join email_events e on", "join email_events e on false and"),
}


@pytest.mark.parametrize("name", FLAWS)
def test_a_flawed_replay_is_caught(name: str, pipeline: Pipeline) -> None:
    statement, text, flawed = FLAWS[name]
    assert text in query(statement)
    made = Pipeline(pipeline.process_url, pipeline.process_url.replace("mailfold_process@", "postgres@"))
    database = Database(pipeline.process_url.replace("mailfold_process@", "mailfold_operate@"))

    @settings(quick, phases=(Phase.generate,), derandomize=True, report_multiple_bugs=False)
    @given(history=histories(largest=12), seed=st.integers(0, 2**32))
    def run(history: History, seed: int) -> None:
        any_replay(made, database, history, Random(seed))

    changed = lambda asked: query(asked).replace(text, flawed) if asked == statement else query(asked)  # noqa: E731
    try:
        with patch.object(connection, "query", changed), pytest.raises(AssertionError):
            run()
    finally:
        database.close()
        made.close()


def crowded_fact(number: int) -> Fact:
    """Return an event of its own, on one of a few messages and addresses, that does something to both."""
    kind = ("bounce", "complaint", "delivery", "resubscribe")[number % 4]

    def make(mark: str) -> Raw:
        data = {"message_id": f"{mark}-m{number % 7}", "recipient": f"{mark}-{number % 5}@example.com"}
        at = f"2026-01-01T00:{number % 60:02}:00Z"
        return {"id": f"{mark}-{number}", "type": kind, "timestamp": at, "data": {**data, "bounce_type": "Permanent"}}

    return Fact("sesmetric", make)


def test_live_batches_go_on_beside_a_replay(pipeline: Pipeline, operate: Database) -> None:
    facts, mark, rng = tuple(crowded_fact(number) for number in range(240)), next(MARKS), Random(3)
    empty(pipeline)
    with misreading(seed=3):
        pipeline.deliver(History(facts, (tuple((place,) for place in range(120)),)), mark)
    batches = [tuple(rng.sample(range(120, 240), 30)) for _ in range(40)]
    live = History(facts, (*((batch,) for batch in batches), (tuple(range(120, 240)),)))
    reasons: list[str] = []

    workers = threading.Thread(target=lambda: reasons.extend(pipeline.deliver_concurrently(live, mark, workers=3)))
    workers.start()
    replay_all(operate, most=20)
    still_busy = workers.is_alive()
    workers.join()
    pipeline.deliver(History(facts, ((tuple(range(120)),),)), mark)
    pipeline.sweep()

    found, wanted = actual(pipeline.admin, mark), expected(facts, mark)
    assert still_busy, "the replay was not beside anything"
    assert reasons == []
    for table in ("events", "totals", "statuses", "suppressions", "soft stops"):
        assert found[table] == wanted[table], table
