"""The final state is a function of the set of events: the short form, for every run of the tests."""

from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.property import properties
from tests.property.histories import Fact, History, facts, histories
from tests.property.pipeline import Pipeline, marks

MARKS = marks()

quick = settings(
    max_examples=150,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)


@quick
@given(history=histories(largest=12), seed=st.integers(0, 2**32))
def test_any_delivery(pipeline: Pipeline, history: History, seed: int) -> None:
    properties.any_delivery(pipeline, history, next(MARKS), Random(seed))


@settings(quick, max_examples=12)
@given(chosen=st.lists(facts, min_size=2, max_size=4), seed=st.integers(0, 2**32))
def test_every_permutation(pipeline: Pipeline, chosen: list[Fact], seed: int) -> None:
    properties.every_permutation(pipeline, tuple(chosen), next(MARKS), Random(seed))


@quick
@given(history=histories(), seed=st.integers(0, 2**32))
def test_any_crash(pipeline: Pipeline, history: History, seed: int) -> None:
    properties.any_crash(pipeline, history, next(MARKS), Random(seed))


@settings(quick, max_examples=40)
@given(history=histories(), seed=st.integers(0, 2**32))
def test_any_concurrency(pipeline: Pipeline, history: History, seed: int) -> None:
    properties.any_concurrency(pipeline, history, next(MARKS), Random(seed))
