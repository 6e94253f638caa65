"""EventBridge Scheduler calls this every minute."""

from typing import Any

import boto3
from botocore.config import Config

from mailfold.bus import Bus
from mailfold.settings import PublishSettings
from mailfold.steps.publish import PublishContext, publish
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

settings = PublishSettings.from_environment()
telemetry = Telemetry("publish")
database = Database(settings.database_url)
# A transaction is open during a call: an answer that takes longer than this is none.
patience = Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 2, "mode": "standard"})
bus = Bus(client=boto3.client("events", config=patience), name=settings.bus_name)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Publish what was committed and say how much that was."""
    publish_context = PublishContext(
        database=database, bus=bus, remaining_ms=context.get_remaining_time_in_millis, telemetry=telemetry
    )
    published = publish(publish_context)
    telemetry.flush()
    return dict(published)
