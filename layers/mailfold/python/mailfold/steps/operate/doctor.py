"""What doctor asks of the database: how it is, whether a probe has arrived, and to take the probe out again."""

from typing import Any

from mailfold.errors import CommandRefused
from mailfold.jsontext import dumps
from mailfold.probe import MARKER, PROBE_ADDRESS
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.store.migrate import migrations
from mailfold.store.reading import read
from mailfold.store.rights import deviations


def show_sources(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return the configured sources as the functions know them."""
    return {
        "sources": {name: {**source.options, "provider": source.provider} for name, source in context.sources.items()}
    }


def show_store(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return how the database is, and where it is not as this version of the package needs it."""
    with context.database.transaction() as tx:
        [facts] = read(tx, "doctor_store", {})
        roles = deviations(tx)
        sources = read(tx, "doctor_sources", {"sources": dumps(sorted(context.sources))})
    return {
        **facts,
        "migrations": _compared(facts["migrations"]),
        "roles": roles,
        "sources": {row["source"]: row["last_at"] for row in sources},
        "publish": context.publish,
        "retention_days": context.retention["events"],
    }


def _compared(applied: dict[str, str]) -> dict[str, list[str]]:
    """Hold what was applied against the files of this package."""
    ours = {str(migration.version): migration for migration in migrations()}
    return {
        "missing": [each.name for version, each in ours.items() if version not in applied],
        "edited": [each.name for version, each in ours.items() if applied.get(version, each.digest) != each.digest],
        "unknown": sorted(applied.keys() - ours.keys(), key=int),
    }


def find_probes(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return the probes that have become rows."""
    with context.database.transaction() as tx:
        found = read(tx, "doctor_probe_find", {"markers": dumps(_markers(arguments)), "address": PROBE_ADDRESS})
    return {"probes": found}


def remove_probes(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Take the probes out again; nothing that was delivered to anybody else can be meant."""
    with context.database.transaction() as tx:
        markers = dumps(_markers(arguments))
        [[removed]] = tx.run("doctor_probe_remove", {"markers": markers, "address": PROBE_ADDRESS})
        if removed:
            context.note(tx, "doctor.probe.remove", probes=removed)
    return {"removed": removed}


def _markers(arguments: Arguments) -> list[str]:
    markers = arguments.texts("markers")
    if not all(MARKER.fullmatch(marker) for marker in markers):
        raise CommandRefused("markers must be those of probes")
    return markers
