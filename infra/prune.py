"""prune: deletes what is older than its window, once a night."""

import json

from aws_cdk import TimeZone
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra.database import Database
from infra.layers import Layers
from infra.network import Network
from infra.scheduled import Scheduled
from infra.settings import Settings

#: The database role of this step; the migrations create it.
ROLE = "mailfold_prune"


class Prune(Scheduled):
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
            step="prune",
            role=ROLE,
            # Away from the full hour, when everybody's jobs start.
            when=scheduler.ScheduleExpression.cron(hour="3", minute="17", time_zone=TimeZone.ETC_UTC),
            settings=settings,
            layers=layers,
            network=network,
            database=database,
            environment={"RETENTION": json.dumps(settings.retention, separators=(",", ":"), sort_keys=True)},
        )
