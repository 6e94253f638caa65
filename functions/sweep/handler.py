"""EventBridge Scheduler calls this once an hour."""

from typing import Any

from mailfold.settings import SweepSettings
from mailfold.steps.sweep import sweep
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

settings = SweepSettings.from_environment()
telemetry = Telemetry("sweep")
database = Database(settings.database_url, patience_s=250)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Stop and release addresses by their soft bounces."""
    swept = sweep(database, telemetry, soft_limit=settings.soft_limit, publish=settings.publish)
    telemetry.flush()
    return dict(swept)
