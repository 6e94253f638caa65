"""migrate: the schema at its newest version and the roles with their rights, at every deploy."""

from mailfold.store.connection import Database
from mailfold.store.migrate import apply_migrations
from mailfold.telemetry import Telemetry


def migrate(database: Database, telemetry: Telemetry) -> dict[str, list[str]]:
    """Apply what is missing."""
    applied = apply_migrations(database)
    telemetry.count("MigrationsApplied", len(applied))
    telemetry.say("migrated", migrations=len(applied))
    return {"applied": applied}
