"""Two workers that settle the same conflict at the same moment."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mailfold.jsontext import dumps
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.queue import Record
from mailfold.request import Source
from mailfold.steps.process import ProcessContext, process
from mailfold.store import batch
from mailfold.store.connection import Database, Transaction
from mailfold.telemetry import Telemetry

SOURCE = Source(name="sesmetric", provider="sesmetric")
RECEIVED_AT = datetime(2026, 1, 1, tzinfo=UTC)


def raw(kind: str) -> dict[str, Any]:
    return {"id": "e1", "type": kind, "timestamp": "2026-01-01T00:00:00Z", "data": {"recipient": "a@example.com"}}


def test_content_that_another_worker_has_just_stored_is_no_dead_letter(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = Origin(source=SOURCE, received_at=RECEIVED_AT, headers={})
    contents = [REGISTRY["sesmetric"].parse(raw(kind), origin)[0] for kind in ("delivery", "open", "click", "bounce")]
    first, *_, last = sorted(contents, key=lambda event: event.fingerprint)
    ours, theirs = Database(store.url("mailfold_process")), Database(store.url("mailfold_process"))
    with ours.transaction() as tx:
        batch.fold(tx, [last], publish=False)
    settle = batch.settle

    def settle_after_them(tx: Transaction, events: Any, *, publish: bool) -> Any:
        with theirs.transaction() as their_tx:
            settle(their_tx, [first], publish=publish)
        return settle(tx, events, publish=publish)

    monkeypatch.setattr(batch, "settle", settle_after_them)
    deliver(ours, first.raw)

    assert store.rows("select fingerprint from email_events") == [[first.fingerprint]]
    assert store.rows("select kind, raw from dead_letters") == []
    ours.close()
    theirs.close()


def deliver(database: Database, event: Any) -> None:
    head = {"mailfold": 1, "source": "sesmetric", "provider": "sesmetric", "claim_key": "k", "request_hash": "h"}
    body = dumps({**head, "received_at": RECEIVED_AT.isoformat(), "headers": {}, "events": [event]})
    context = ProcessContext(
        database=database,
        sources={"sesmetric": SOURCE},
        topics={},
        publish=False,
        remaining_ms=lambda: 60_000,
        telemetry=Telemetry("process"),
    )
    process([Record(record_id="r", body=body, receive_count=1, sent_at=RECEIVED_AT)], context)
