"""EventBridge Scheduler calls this once a day."""

from datetime import UTC, datetime
from typing import Any

from mailfold.settings import PruneSettings
from mailfold.steps.prune import PruneContext, prune
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

settings = PruneSettings.from_environment()
telemetry = Telemetry("prune")
database = Database(settings.database_url, patience_s=65)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Delete what is past its window and say how much that was."""
    prune_context = PruneContext(
        database=database,
        retention=settings.retention,
        now=datetime.now(UTC),
        remaining_ms=context.get_remaining_time_in_millis,
        telemetry=telemetry,
    )
    pruned = prune(prune_context)
    telemetry.flush()
    return pruned
