"""What process and prune write: counts and reasons, never an address, a message or a payload."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mailfold.errors import TransientStoreError
from mailfold.events import Event, Raw
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from tests.support.pipeline import Pipeline
from tests.support.records import envelope, notification, raw, unstorable

ADDRESS = "confidential.person@example.com"
WORDS = "a very private reason"


@pytest.fixture(autouse=True)
def _clumsy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter whose bug quotes what it stumbled over."""
    parse = REGISTRY["sesmetric"].parse

    def stumble(event: Raw, origin: Origin) -> list[Event]:
        if event.get("stumble"):
            raise ValueError(str(event))
        return [unstorable(one) if event.get("refuse") else one for one in parse(event, origin)]

    monkeypatch.setitem(REGISTRY, "sesmetric", replace(REGISTRY["sesmetric"], parse=stumble))


def private(event_id: str, kind: str = "bounce", **data: Any) -> Raw:
    return raw(event_id, kind, recipient=ADDRESS, reason=WORDS, bounce_type="Permanent", **data)


def test_no_line_and_no_metric_holds_what_must_not_be_told(
    pipeline: Pipeline, store: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bodies = [
        envelope(private("a"), private("b", "complaint")),
        envelope(private("a", "open")),
        envelope({"type": ADDRESS, "note": WORDS}),
        envelope({**private("r"), "refuse": True}),
        envelope({**private("c"), "stumble": True}),
        f"{ADDRESS} {WORDS}",
        notification({"eventType": ADDRESS, "mail": {"messageId": WORDS}}),
    ]

    failed = [pipeline.deliver(bodies, receive_count=count) for count in (1, 2, 5)]
    with monkeypatch.context() as faulty:
        faulty.setattr("mailfold.store.batch.fold", outage)
        failed.append(pipeline.deliver([envelope(private("d"))]))
    pipeline.prune()

    written = "".join(capsys.readouterr())
    assert failed == [1, 1, 0, 1]
    assert store.value("select count(distinct kind) from dead_letters") == 5
    for confidence in (ADDRESS, ADDRESS.partition("@")[0], WORDS, "private", "sesmetric:"):
        assert confidence not in written
    lines = [json.loads(line) for line in written.splitlines()]
    assert {line["message"] for line in lines if "message" in line} == {"failed", "isolating", "rolled back", "pruned"}


def outage(*_: object, **__: object) -> None:
    raise TransientStoreError("the connection failed: ConnectionResetError")
