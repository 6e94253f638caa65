"""The chaos load at a size for every run of the tests."""

from tests.chaos.load import CLEAN, chaos


def test_killed_workers_and_a_stopped_postgres_lose_and_double_nothing() -> None:
    found = chaos(events=6_000, kills=25, restarts=2, seed=5)

    assert (found["kills"], found["restarts"]) == (25, 2)
    assert not [name for name in CLEAN if found[name]]
