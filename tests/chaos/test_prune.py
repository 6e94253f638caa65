"""Prune killed in the middle, at a size for every run of the tests."""

from tests.chaos.prune import chaos, is_clean


def test_a_prune_that_is_killed_is_finished_by_the_next_and_no_total_moves() -> None:
    found = chaos(rows=60_000, batch_rows=2_000)

    assert is_clean(found), found
    assert found["pruned by the run that was killed"] >= 20_000
    assert found["pruned by the next run"] > 0
    # A row is past the window every 43 seconds, and the clock does not stand still.
    assert 50_000 <= found["pruned by the run that was killed"] + found["pruned by the next run"] < 50_010
    assert found["ingested meanwhile"] > 0
    assert found["copies sent meanwhile"] > 0
    assert found["events by the totals"] == 60_000 + found["ingested meanwhile"]
