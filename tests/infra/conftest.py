"""One synthesised stack for all template tests."""

import pytest

from infra.node import prepare_cdk
from local.postgres import PostgresServer
from tests.support.blobs import Printed

prepare_cdk()

from tests.infra.emissions import emissions  # noqa: E402 - the CDK must be prepared first
from tests.infra.template import Synthesised, synthesise  # noqa: E402


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Synthesised:
    """The stack as cdk.json describes it, past the built-in rules and cdk-nag."""
    return synthesise(tmp_path_factory.mktemp("checked"), checked=True)


@pytest.fixture(scope="session")
def printed(stack: Synthesised, postgres_server: PostgresServer) -> frozenset[Printed]:
    """Every metric that the steps really print."""
    return emissions(stack, postgres_server)
