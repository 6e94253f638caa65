"""One synthesised stack for all template tests."""

import pytest

from infra.node import prepare_cdk

prepare_cdk()

from tests.infra.template import Synthesised, synthesise  # noqa: E402 - the CDK must be prepared first


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesised:
    """The stack as cdk.json describes it, past the built-in rules and cdk-nag."""
    return synthesise(tmp_path_factory.mktemp("checked"), checked=True)
