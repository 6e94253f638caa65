"""Numbered migrations, applied once each, in order."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from mailfold.errors import MigrationError
from mailfold.jsontext import dumps
from mailfold.store.connection import Database, Transaction
from mailfold.store.queries import query

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_LEDGER = """
do $$
begin
    create table if not exists schema_migrations (
        version    integer primary key,
        name       text        not null,
        digest     text        not null,
        applied_at timestamptz not null default now()
    );
exception when duplicate_table or unique_violation then
    null; -- another deploy has created it at the same moment
end
$$
"""
#: Two deploys at the same moment must not migrate at the same moment (docs/decisions/0111).
_LOCK = "lock table schema_migrations in share row exclusive mode"


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


def apply_migrations(database: Database, *, connection_limits: Mapping[str, int] | None = None) -> list[str]:
    """Bring the schema and the roles to where this package needs them; return the names of what was applied.

    A role without a limit here keeps the one that it has.
    """
    applied = []
    with database.transaction() as tx:
        tx.execute(_LEDGER)
        tx.execute(_LOCK)
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
            tx.execute(query("public_rights"))
            tx.run("connections_give", {"limits": dumps(dict(connection_limits or {}))})
            tx.execute(query("connections_limit"))
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
