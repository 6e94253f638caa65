"""Numbered migrations, applied once each, in order."""

import re
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from mailfold.errors import MigrationError
from mailfold.store.connection import Database, Transaction
from mailfold.store.queries import query

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
#: Two deploys at the same moment must not migrate at the same moment.
_LOCK = "select pg_advisory_xact_lock(7245361902)"
_LEDGER = """
create table if not exists schema_migrations (
    version    integer primary key,
    name       text        not null,
    digest     text        not null,
    applied_at timestamptz not null default now()
)
"""


@dataclass(frozen=True, kw_only=True)
class Migration:
    """One numbered file."""

    version: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """Digest of the file, which must never change once it was applied."""
        return sha256(self.sql.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Return every migration of this package, oldest first."""
    found = []
    for file in files("mailfold.store").joinpath("migrations").iterdir():
        match = _NAME.fullmatch(file.name)
        if match:
            found.append(Migration(version=int(match.group(1)), name=file.name, sql=file.read_text("utf-8")))
    return sorted(found, key=lambda migration: migration.version)


def apply_migrations(database: Database) -> list[str]:
    """Bring the schema and the roles to where this package needs them; return the names of what was applied."""
    applied = []
    with database.transaction() as tx:
        tx.execute(_LOCK)
        tx.execute(_LEDGER)
        known = {int(row[0]): str(row[1]) for row in tx.execute("select version, digest from schema_migrations")}
        ours = {migration.version: migration for migration in migrations()}
        _refuse_edited(known, ours)
        # A deploy that is rolled back calls the older package on the newer schema: it must leave it as it is.
        if known.keys() <= ours.keys():
            for migration in ours.values():
                if migration.version not in known:
                    _apply(tx, migration)
                    applied.append(migration.name)
            tx.execute(query("roles"))
    return applied


def _refuse_edited(known: dict[int, str], ours: dict[int, Migration]) -> None:
    for version, digest in known.items():
        if version in ours and ours[version].digest != digest:
            raise MigrationError(f"{ours[version].name} was changed after it was applied")


def _apply(tx: Transaction, migration: Migration) -> None:
    tx.execute(migration.sql)
    # Only digits, the fixed pattern of _NAME and hex go into this text.
    tx.execute(
        "insert into schema_migrations (version, name, digest) "  # noqa: S608  # nosec B608
        f"values ({migration.version}, '{migration.name}', '{migration.digest}')"
    )
