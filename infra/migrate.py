"""migrate: brings the schema to its newest version during a deploy, and fails the deploy when it cannot."""

from aws_cdk import Duration, triggers
from constructs import Construct

from infra.database import OWNER, Database
from infra.function import Function
from infra.layers import Layers
from infra.network import Network
from infra.settings import Settings

TIMEOUT = Duration.minutes(10)


class Migrate(Construct):
    """The function and the trigger that calls it whenever it or a layer has changed."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        layers: Layers,
        network: Network,
        database: Database,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Function",
            step="migrate",
            settings=settings,
            layers=layers,
            network=network,
            timeout=TIMEOUT,
            memory_mb=256,
            environment={"DATABASE_URL": database.url(OWNER)},
        )
        self.trigger = triggers.Trigger(
            self,
            "Trigger",
            handler=self.function.function,
            # Longer than the function, so that a deploy hears the function's own last word.
            timeout=TIMEOUT.plus(Duration.seconds(30)),
            execute_after=[database, *self.function.security_groups],
        )
