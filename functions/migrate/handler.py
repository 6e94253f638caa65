"""The deploy calls this after the database exists and before anything uses it."""

from typing import Any

from mailfold.settings import MigrateSettings
from mailfold.steps.migrate import migrate
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

settings = MigrateSettings.from_environment()
telemetry = Telemetry("migrate")
database = Database(settings.database_url, patience_s=590)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Bring the schema to its newest version; a failure fails the deploy."""
    migrated = migrate(database, telemetry, connection_limits=settings.connection_limits)
    telemetry.flush()
    return dict(migrated)
