"""process: reads the queue in batches and folds each into Postgres."""

import json

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.database import Database
from infra.function import Function
from infra.layers import Layers
from infra.network import Network
from infra.queue import Queue
from infra.settings import Settings
from infra.sources import encode

TIMEOUT = Duration.seconds(60)

#: The database role of this step; the migrations create it.
ROLE = "mailfold_process"


class Process(Construct):
    """The function and its mapping to the queue."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        layers: Layers,
        network: Network,
        database: Database,
        queue: Queue,
        topics: dict[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Function",
            step="process",
            settings=settings,
            layers=layers,
            network=network,
            timeout=TIMEOUT,
            # Lambda gives processor time by memory, a batch is mostly JSON, and rows stay locked while it is worked on.
            memory_mb=1024,
            environment={
                "SOURCES": encode(settings.sources),
                "TOPICS": json.dumps(topics, separators=(",", ":")),
                "DATABASE_URL": database.url(ROLE),
                "PUBLISH": json.dumps(settings.publish),
            },
        )
        self.mapping = lambda_.EventSourceMapping(
            self,
            "Mapping",
            target=self.function.function,
            event_source_arn=queue.queue.queue_arn,
            batch_size=settings.batch_size,
            max_batching_window=Duration.seconds(settings.batch_window_seconds),
            # Not reserved concurrency: throttled records would use up their receives and end as dead letters.
            # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
            max_concurrency=settings.max_concurrency,
            report_batch_item_failures=True,
        )
