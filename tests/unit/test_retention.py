"""Retention: a window that would let a redelivery be folded twice is refused."""

import pytest

from mailfold.errors import SettingsError
from mailfold.retention import DEDUPE_FLOOR_DAYS, DEFAULT_DAYS, FLOOR_DAYS, check_retention

#: Standard Webhooks' schedule ends after 76 h; no provider retries longer.
LONGEST_RETRY_H = 76


def test_defaults_fill_what_is_not_set() -> None:
    windows = check_retention({"events": 45})

    assert windows == {**DEFAULT_DAYS, "events": 45}


def test_the_floor_outlasts_every_retry_with_a_margin() -> None:
    assert DEDUPE_FLOOR_DAYS * 24 > LONGEST_RETRY_H * 1.2
    assert {"events", "claims"} <= FLOOR_DAYS.keys()


@pytest.mark.parametrize("table", FLOOR_DAYS)
def test_a_window_at_the_floor_is_taken_and_one_below_refused(table: str) -> None:
    assert check_retention({table: FLOOR_DAYS[table]})[table] == FLOOR_DAYS[table]

    with pytest.raises(SettingsError, match=rf"retention\.{table} .* from {FLOOR_DAYS[table]} "):
        check_retention({table: FLOOR_DAYS[table] - 1})


@pytest.mark.parametrize("table", DEFAULT_DAYS)
@pytest.mark.parametrize("window", [0, -1, 3651, 30.0, "30", None, True], ids=repr)
def test_a_window_that_is_no_sensible_number_of_days_is_refused(table: str, window: object) -> None:
    with pytest.raises(SettingsError, match=rf"retention\.{table}"):
        check_retention({table: window})


def test_an_unknown_table_is_refused_beside_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"'emails'; known are events"):
        check_retention({"emails": 30})
