"""One signature is worth one event: whatever is sent under it and however it is redriven, one content is believed."""

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mailfold.errors import UnparseableEvent
from mailfold.fold import SOFT_LIMIT
from mailfold.jsontext import dumps
from mailfold.providers import REGISTRY
from mailfold.queue import Record
from mailfold.request import Source
from mailfold.retention import DEFAULT_DAYS
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.operate.dead_letters import redrive_dead_letters
from mailfold.steps.process import ProcessContext, process
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry
from tests.property.pipeline import Pipeline
from tests.support.captured import event

SOURCES = {"mailgun": Source(name="mailgun", provider="mailgun")}
#: Every content that the state shows, wherever it left something: an event, a status, a suppression.
SHOWN = """
    select recipient from email_events
    union select recipient from message_status
    union select address from suppressions
"""
#: How records arrive: as always, while the adapter is broken, or while their source is not configured.
WAYS = ("live", "broken", "unconfigured")

sendings = st.tuples(
    st.sampled_from(WAYS), st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=5)
)
redrives = st.tuples(st.just("redrive"), st.sampled_from(("all", "groups", "ids")))
histories = st.lists(st.one_of(sendings, sendings, redrives), min_size=2, max_size=9)


@settings(
    max_examples=60,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
@given(history=histories)
def test_one_content_is_believed_under_each_signature(pipeline: Pipeline, history: list[tuple[str, Any]]) -> None:
    pipeline.tidy()
    believed: dict[str, set[str]] = defaultdict(set)
    for act, what in [*history, ("redrive", "all")]:
        if act == "redrive":
            _redrive(pipeline.admin, what)
        else:
            _deliver(pipeline, act, what)
        for [address] in pipeline.admin.execute(SHOWN):
            token, _, content = address.partition("@")[0].partition("c")
            believed[token].add(content)
        # Never a second one, and never another one than before.
        assert all(len(contents) == 1 for contents in believed.values()), dict(believed)


def _deliver(pipeline: Pipeline, way: str, contents: list[tuple[int, int]]) -> None:
    sources = {} if way == "unconfigured" else SOURCES
    records = [
        Record(record_id=f"r{place}", body=_envelope(*content), receive_count=1, sent_at=datetime.now(UTC))
        for place, content in enumerate(contents)
    ]
    context = ProcessContext(
        database=pipeline.database,
        sources=sources,
        topics={},
        publish=False,
        remaining_ms=lambda: 60_000,
        telemetry=Telemetry("process"),
    )
    with _broken() if way == "broken" else contextlib.nullcontext():
        assert process(records, context).failed == []


@contextlib.contextmanager
def _broken() -> Iterator[None]:
    def stumble(*_: Any) -> Any:
        raise UnparseableEvent("no such field")

    with patch.dict(REGISTRY, {"mailgun": replace(REGISTRY["mailgun"], parse=stumble)}):
        yield


def _envelope(token: int, content: int) -> str:
    # Some contents share an event id, so that they would be in conflict if both were folded.
    raw = {**event(f"t{token}c{content}", "complained"), "id": f"t{token}-{content % 2}"}
    return dumps(
        {
            "mailfold": 1,
            "source": "mailgun",
            "provider": "mailgun",
            "claim_key": f"mailgun:key:token:t{token}:0",
            "request_hash": sha256(dumps(raw).encode()).hexdigest()[:32],
            "received_at": "2026-01-01T00:00:00+00:00",
            "headers": {},
            "events": [raw],
        }
    )


def _redrive(database: Database, choice: str) -> None:
    column = {"all": "true", "groups": "group_id", "ids": "dead_letter_id"}[choice]
    name = {"all": "all", "groups": "group", "ids": "ids"}[choice]
    for [value] in database.execute(f"select distinct {column} from dead_letters order by 1"):
        office = OperateContext(
            database=database,
            sources=SOURCES,
            topics={},
            publish=False,
            soft_limit=SOFT_LIMIT,
            retention=DEFAULT_DAYS,
            by="ann",
            # Dead letters of this very moment are meant as well.
            now=datetime.now(UTC) + timedelta(seconds=1),
            remaining_ms=lambda: 60_000,
            telemetry=Telemetry("operate"),
        )
        redrive_dead_letters(office, Arguments({name: [value] if choice == "ids" else value, "apply": True}))
