"""The door on moto, and how much chance the unit tests may take."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from moto import mock_aws

from local.testing.handlers import COMMON
from tests.support.door import Door

# The same examples in every run, however busy the machine.
settings.register_profile(
    "mailfold",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("mailfold")


@pytest.fixture(scope="session")
def aws() -> Iterator[None]:
    """AWS as moto plays it, with credentials that open nothing else."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        for name, value in COMMON.items():
            patch.setenv(name, value)
        yield


@pytest.fixture
def door(aws: None, monkeypatch: pytest.MonkeyPatch) -> Door:
    """A cold start of receive, its queue empty and its secret in place."""
    return Door(monkeypatch)
