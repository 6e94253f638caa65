"""EventBridge Scheduler calls this every five minutes."""

from datetime import UTC, datetime
from typing import Any

from mailfold.settings import WatchSettings
from mailfold.steps.watch import watch
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

settings = WatchSettings.from_environment()
telemetry = Telemetry("watch")
database = Database(settings.database_url)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Measure the sources and the dead letters."""
    watched = watch(database, telemetry, sources=settings.sources, now=datetime.now(UTC))
    telemetry.flush()
    return dict(watched)
