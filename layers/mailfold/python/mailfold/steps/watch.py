"""watch: the rates and the silence of each source, measured often enough to be told before a provider acts."""

from collections.abc import Collection
from dataclasses import fields
from datetime import datetime

from mailfold.source_health import THRESHOLDS, Traffic
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

#: How far back an event is looked for; a longer silence is reported as this one.
DAY_SECONDS = 86_400

_COLUMNS = [field.name for field in fields(Traffic)]


def watch(database: Database, telemetry: Telemetry, *, sources: Collection[str], now: datetime) -> dict[str, int]:
    """Measure every configured source and the dead letters; it changes nothing."""
    at = {"now": now.isoformat()}
    with database.transaction() as tx:
        rows = tx.run("watch", at)
        [[dead_letters, oldest_seconds]] = tx.run("watch_dead_letters", at)
    seen = {source: Traffic(**dict(zip(_COLUMNS, values, strict=True))) for source, *values in rows}
    traffic = {source: seen.get(source, Traffic()) for source in sources}
    high = sum(_report_rates(source, found, telemetry) for source, found in traffic.items())
    quiet = sum(_report_silence(source, found, telemetry) for source, found in traffic.items())
    telemetry.measure("DeadLetters", dead_letters)
    telemetry.measure("OldestDeadLetterSeconds", oldest_seconds)
    telemetry.count("WatchRuns")
    telemetry.say("watched", sources=len(traffic), high=high, quiet=quiet, dead_letters=dead_letters)
    return {"sources": len(traffic), "high": high, "quiet": quiet, "dead_letters": dead_letters}


def _report_rates(source: str, traffic: Traffic, telemetry: Telemetry) -> int:
    """Count the rates that have reached their line."""
    high = 0
    for name, rate in traffic.rates.items():
        telemetry.measure(name, rate, source=source)
        if rate >= THRESHOLDS[name].percent:
            high += 1
            telemetry.warn("rate is high", source=source, metric=name, percent=f"{rate:.2f}")
    return high


def _report_silence(source: str, traffic: Traffic, telemetry: Telemetry) -> bool:
    silent = DAY_SECONDS if traffic.silent_seconds is None else traffic.silent_seconds
    telemetry.measure("SecondsSinceLastEvent", silent, source=source)
    telemetry.measure("SourceQuiet", int(traffic.is_quiet), source=source)
    if traffic.is_quiet:
        telemetry.warn("source is quiet", source=source, events=traffic.hour_events, usual=traffic.weekday_events)
    return traffic.is_quiet
