"""The properties are only worth something if they catch a processor that breaks them."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import FlakyFailure, NoSuchExample

from mailfold.request import Request
from mailfold.steps import receive as receive_step
from mailfold.steps.receive import ReceiveContext, Response
from tests.property import properties
from tests.property.flawed import FLAWS
from tests.property.histories import History, histories
from tests.property.pipeline import Pipeline, marks
from tests.support.desk import Desk

MARKS = marks()

SEARCH = settings(
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,),
)


def caught(pipeline: Pipeline, prove: str) -> AssertionError | None:
    """Search for a history that breaks the property; return what it broke, None when none was found."""
    rng = Random(7)
    failures: list[AssertionError] = []

    def breaks(history: History) -> bool:
        try:
            getattr(properties, prove)(pipeline, history, next(MARKS), rng)
        except AssertionError as failure:
            failures.append(failure)
            return True
        return False

    # A found history is run once more, and where the flaw lies in what is remembered it may then pass: still found.
    with contextlib.suppress(NoSuchExample, FlakyFailure):
        find(histories(), breaks, settings=SEARCH, random=Random(7))
    return failures[0] if failures else None


@pytest.fixture
def flawed_pipeline(pipeline: Pipeline) -> Iterator[Pipeline]:
    """A pipeline with prepared statements and connections of its own, as the owner, so that any flaw can be tried."""
    owner = pipeline.process_url.replace("mailfold_process@", "postgres@")
    made = Pipeline(owner, owner)
    yield made
    made.close()


@pytest.mark.parametrize("name", FLAWS)
def test_flawed_processor_is_caught(name: str, flawed_pipeline: Pipeline) -> None:
    flaw, prove = FLAWS[name]

    with flaw():
        failure = caught(flawed_pipeline, prove)

    assert failure is not None, f"{prove} did not notice: {name}"


@pytest.mark.parametrize("prove", sorted({prove for _, prove in FLAWS.values()}))
def test_the_real_processor_is_not(prove: str, flawed_pipeline: Pipeline) -> None:
    failure = caught(flawed_pipeline, prove)

    assert failure is None


def forgery_changes_nothing() -> None:
    """Whatever a forger sent first, the genuine request that follows is taken."""
    desk = Desk("sesmetric")
    body, headers = desk.signed()
    forged = {**headers, "X-SESMetric-Signature": "0" * 64}

    assert desk.post(body, forged).status == 401
    assert desk.post(body, headers).status == 200
    assert desk.sqs.events(), "the genuine event was taken for a duplicate"


def test_door_that_dedupes_before_it_verifies_is_caught() -> None:
    seen: set[str] = set()
    verified = receive_step.receive

    def dedupe_first(request: Request, door: ReceiveContext) -> Response:
        event_id = json.loads(request.body)["id"]
        if event_id in seen:
            return Response(status=200, body={"status": "duplicate"})
        seen.add(event_id)
        return verified(request, door)

    with patch.object(receive_step, "receive", dedupe_first), pytest.raises(AssertionError):
        forgery_changes_nothing()


def test_the_real_door_is_not() -> None:
    forgery_changes_nothing()


def test_the_guarantees_name_each_flaw_and_what_catches_it() -> None:
    page = Path("docs/guarantees.md").read_text()

    missing = [name for name, (_, prove) in FLAWS.items() if f"| {name} | `{prove}` |" not in page]

    assert missing == []
