"""The benchmarks' own arithmetic."""

import json
from itertools import count

import pytest

from bench import measure, report
from bench.__main__ import PARTS
from bench.figures import Figure, Section, percentile
from bench.measure import in_turns, ratios
from bench.progress import Ticker
from bench.report import number, table
from bench.traffic import Traffic, envelopes


def test_a_figure_is_the_median_of_its_rounds_with_the_quartiles_as_spread() -> None:
    figure = Section(name="fold").add("speed", [9, 1, 3, 5, 7])

    assert (figure.low, figure.value, figure.high, figure.rounds) == (3, 5, 7, 5)


@pytest.mark.parametrize(
    ("must", "reached"),
    [((">=", 5), True), ((">=", 5.1), False), (("<=", 5), True), (("<=", 4.9), False), (None, None)],
)
def test_a_figure_knows_whether_it_is_what_it_must_be(must: tuple[str, float] | None, reached: bool | None) -> None:
    assert Figure(name="x", value=5, low=4, high=6, rounds=5, must=must).reached is reached


def test_ways_take_turns_and_the_first_turn_is_not_kept() -> None:
    turns: list[str] = []

    def way(name: str) -> measure.Way:
        return lambda: lambda: turns.append(name)

    seconds = in_turns({"a": way("a"), "b": way("b")}, rounds=3, ticker=Ticker("x"))

    assert turns == ["b", "a", "a", "b", "b", "a", "a", "b"]
    assert {name: len(kept) for name, kept in seconds.items()} == {"a": 3, "b": 3}


def test_only_the_work_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()

    assert measure.timed(lambda: next(ticks), clock=lambda: float(next(ticks))) == 2


def test_a_ratio_counts_work_not_rounds() -> None:
    assert ratios([1.0, 2.0], [0.5, 0.5], work=10) == [20, 40]


def test_a_percentile_is_one_of_the_samples() -> None:
    assert percentile(list(range(100)), 0.99) == 99
    assert percentile([3.0], 0.99) == 3.0


def test_the_table_says_what_is_missed() -> None:
    section = Section(name="fold", notes=["because"])
    section.add("good", [2.0], must=(">=", 1))
    section.add("bad", [2.0], must=("<=", 1))

    text = table([section])

    assert "good    2.00 x  2.00 .. 2.00  >= 1.00  reached" in text
    assert "NOT reached" in text
    assert text.endswith("fold: because")


@pytest.mark.parametrize(("value", "shown"), [(12345.6, "12,346"), (12.34, "12.3"), (1.234, "1.23")])
def test_a_number_shows_what_means_something(value: float, shown: str) -> None:
    assert number(value) == shown


def test_the_traffic_never_repeats_itself_and_is_the_same_in_every_run() -> None:
    events = Traffic(seed=1).events(500)

    assert events == Traffic(seed=1).events(500)
    assert len({event["sg_event_id"] for event in events}) == 500
    assert len(envelopes(events)) > 1


def test_the_page_shows_the_required_figures_of_the_report() -> None:
    found = json.loads(report.JSON_FILE.read_text())

    assert report.BEGIN + report.required(found) + report.END in report.PAGE.read_text()
    assert set(found["sections"]) == {part.replace("_", " ") for part in PARTS}
