"""operate: carries out what a person orders from the command line; only whoever may invoke it can."""

import json

from aws_cdk import Duration
from constructs import Construct

from infra.database import Database
from infra.function import Function
from infra.layers import Layers
from infra.network import Network
from infra.settings import Settings
from infra.sources import encode

#: The database role of this step; the migrations create it.
ROLE = "mailfold_operate"

TIMEOUT = Duration.seconds(60)


class Operate(Construct):
    """The function; nothing in the stack calls it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        layers: Layers,
        network: Network,
        database: Database,
        topics: dict[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Function",
            step="operate",
            settings=settings,
            layers=layers,
            network=network,
            timeout=TIMEOUT,
            memory_mb=512,
            environment={
                "SOURCES": encode(settings.sources),
                "TOPICS": json.dumps(topics, separators=(",", ":")),
                "DATABASE_URL": database.url(ROLE),
                "PUBLISH": json.dumps(settings.publish),
                "SOFT_LIMIT": str(settings.soft_bounce_limit),
                "RETENTION": json.dumps(dict(settings.retention), separators=(",", ":")),
            },
        )
