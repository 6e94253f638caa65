"""migrate: the schema at its newest version and the roles with their rights, at every deploy."""

from collections.abc import Mapping

from mailfold.store.connection import Database
from mailfold.store.migrate import apply_migrations
from mailfold.telemetry import Telemetry


def migrate(database: Database, telemetry: Telemetry, *, connection_limits: Mapping[str, int]) -> dict[str, list[str]]:
    """Apply what is missing, and bound the connections of each role."""
    applied = apply_migrations(database, connection_limits=connection_limits)
    telemetry.count("MigrationsApplied", len(applied))
    telemetry.say("migrated", migrations=len(applied))
    return {"applied": applied}
