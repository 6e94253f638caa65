"""What is normal: rates mean something only from a volume on, and silence only where there was traffic."""

from dataclasses import fields, replace
from math import ceil

import pytest

from mailfold.source_health import QUIET_SHARE, THRESHOLDS, USUAL_EVENTS, Traffic

#: Line -> the fields that hold what is counted, and of how many.
COUNTED = {
    "HardBouncePercentHour": ("hour_bounced", "hour_sends"),
    "HardBouncePercentDay": ("day_bounced", "day_sends"),
    "ComplaintPercentHour": ("hour_complained", "hour_sends"),
    "ComplaintPercentDay": ("day_complained", "day_sends"),
}
#: From how many percent on SES reviews a sender: https://docs.aws.amazon.com/ses/latest/dg/faqs-enforcement.html
REVIEWED = {"HardBouncePercentDay": 5.0, "ComplaintPercentDay": 0.1}

every_line = pytest.mark.parametrize("name", THRESHOLDS)


def rate(name: str, events: int, sends: int) -> float:
    counted, sent = COUNTED[name]
    return Traffic(**{counted: events, sent: sends}).rates[name]


def least(name: str) -> int:
    """The fewest events that reach the line at the smallest volume that counts."""
    line = THRESHOLDS[name]
    return max(line.least_events, ceil(line.least_sends * line.percent / 100))


@every_line
def test_a_rate_is_of_its_own_window_and_kind(name: str) -> None:
    counted, sent = COUNTED[name]
    traffic = Traffic(**{counted: 1_000, sent: 10_000})

    assert {other: rate for other, rate in traffic.rates.items() if rate} == {name: 10.0}


@every_line
def test_the_line_is_reached_from_its_smallest_volume_on(name: str) -> None:
    line = THRESHOLDS[name]

    assert rate(name, least(name), line.least_sends) >= line.percent
    assert rate(name, least(name) - 1, line.least_sends) < line.percent


@every_line
def test_too_few_sends_have_no_rate(name: str) -> None:
    assert rate(name, 10_000, THRESHOLDS[name].least_sends - 1) == 0.0


@every_line
def test_too_few_events_have_no_rate(name: str) -> None:
    line = THRESHOLDS[name]

    assert rate(name, line.least_events - 1, line.least_sends) == 0.0
    assert rate(name, line.least_events, line.least_sends) > 0.0


def test_nothing_sent_is_no_rate_at_all() -> None:
    assert Traffic().rates == dict.fromkeys(THRESHOLDS, 0.0)


@pytest.mark.parametrize("name", REVIEWED)
@pytest.mark.parametrize("sends", [5_000, 5_999, 7_001, 100_000, 3_000_000])
def test_a_line_is_reached_before_ses_acts(name: str, sends: int) -> None:
    first_that_ses_minds = ceil(sends * REVIEWED[name] / 100)

    assert rate(name, first_that_ses_minds - 1, sends) >= THRESHOLDS[name].percent


@pytest.mark.parametrize("sends", [1_000, 1_001, 4_999])
def test_hard_bounces_of_a_small_sender_are_told_before_ses_acts_too(sends: int) -> None:
    assert rate("HardBouncePercentDay", ceil(sends * 0.05) - 1, sends) >= THRESHOLDS["HardBouncePercentDay"].percent


BUSY = Traffic(
    silent_seconds=10, hour_events=100, week_events=700, median_events=100, weekday_events=100, day_sends=2_000
)


@pytest.mark.parametrize(
    ("quiet", "words", "changes"),
    [
        (False, "as usual", {}),
        (False, "a third of the usual", {"hour_events": 33}),
        (False, "a fifth of the usual", {"hour_events": 20}),
        (True, "less than a fifth", {"hour_events": 19}),
        (True, "nothing in the hour", {"hour_events": 0}),
        (True, "nothing for a day", {"hour_events": 0, "silent_seconds": None}),
        (False, "nothing came at this hour a week ago either: a weekend", {"hour_events": 0, "weekday_events": 0}),
        (False, "one large mailing a week ago", {"hour_events": 10, "median_events": 12, "weekday_events": 9_000}),
        (False, "the last days were busy, this weekday is not", {"hour_events": 4, "weekday_events": 19}),
        (False, "never much at this hour", {"hour_events": 0, "median_events": 19, "weekday_events": 19}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_quiet_is_far_less_than_at_this_hour_of_other_days(quiet: bool, words: str, changes: dict[str, int]) -> None:
    assert replace(BUSY, **changes).is_quiet is quiet


@pytest.mark.parametrize(
    ("quiet", "words", "week_events", "weekday_events", "silent_seconds"),
    [
        (True, "some every day, and none for a day", 20, 3, None),
        (False, "too few in the week to tell", 19, 3, None),
        (False, "none on this weekday", 20, 0, None),
        (False, "the last one is less than a day old", 20, 3, 86_399),
        (False, "a new source", 0, 0, None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_of_a_small_source_only_a_whole_day_of_silence_is_strange(
    quiet: bool, words: str, week_events: int, weekday_events: int, silent_seconds: int | None
) -> None:
    traffic = Traffic(week_events=week_events, weekday_events=weekday_events, silent_seconds=silent_seconds)

    assert traffic.is_quiet is quiet


def test_the_limits_are_those_that_the_rows_above_speak_of() -> None:
    assert (USUAL_EVENTS, QUIET_SHARE) == (20, 0.2)
    assert {field.name for field in fields(Traffic)} >= {name for pair in COUNTED.values() for name in pair}
