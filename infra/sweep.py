"""sweep: stops the addresses whose soft bounces in a row are too many, once an hour."""

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
ROLE = "mailfold_sweep"


class Sweep(Scheduled):
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
            step="sweep",
            role=ROLE,
            when=scheduler.ScheduleExpression.cron(minute="41", time_zone=TimeZone.ETC_UTC),
            settings=settings,
            layers=layers,
            network=network,
            database=database,
            environment={"SOFT_LIMIT": str(settings.soft_bounce_limit), "PUBLISH": json.dumps(settings.publish)},
        )
