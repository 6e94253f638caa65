"""watch: measures the rates and the silence of each source, every five minutes."""

from aws_cdk import Duration
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra.database import Database
from infra.layers import Layers
from infra.network import Network
from infra.scheduled import Scheduled
from infra.settings import Settings
from infra.sources import encode

#: The database role of this step; the migrations create it.
ROLE = "mailfold_watch"

EVERY = Duration.minutes(5)


class Watch(Scheduled):
    """The function and its schedule."""

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
        super().__init__(
            scope,
            construct_id,
            step="watch",
            role=ROLE,
            when=scheduler.ScheduleExpression.rate(EVERY),
            settings=settings,
            layers=layers,
            network=network,
            database=database,
            environment={"SOURCES": encode(settings.sources)},
            prompt=True,
        )
