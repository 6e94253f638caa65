"""The kills of publish at a size for every run of the tests."""

from tests.chaos.publish import CLEAN, chaos


def test_a_killed_publish_loses_nothing_overtakes_nothing_and_invents_nothing() -> None:
    found = chaos(kills=8, seed=7)

    assert found["kills in mid-flight"] > 0
    assert found["batches rolled back"] > 0
    assert found["twice or more"] > 0
    assert not [name for name in CLEAN if found[name]]
