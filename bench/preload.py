"""Stores of a given size, loaded once and copied, in SQL alone: folding five million events would take minutes."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from bench.lab import Lab
from bench.traffic import RECEIVED_AT
from local.binaries import find_binaries

SQL = Path(__file__).parent / "sql"
#: The newest event of every loaded store came just before the traffic that is folded; the oldest is 30 days old.
NOW = RECEIVED_AT


@cache
def loaded(lab: Lab, rows: int) -> str:
    """Return the name of a store with this many events and their statuses; leave it as it is, or copy it."""
    name = lab.database()
    if rows:
        run_sql(lab, name, "preload_strip", rows)
        with ThreadPoolExecutor() as pool:
            parts = ("preload_events", "preload_statuses")
            list(pool.map(lambda part: run_sql(lab, name, part, rows), parts))
        run_sql(lab, name, "preload_settle", rows)
    return name


def run_sql(lab: Lab, name: str, file: str, rows: int) -> None:
    """Run one of our files with psql, which waits for as long as it takes."""
    variables = ("-v", "ON_ERROR_STOP=1", "-v", f"rows={rows}", "-v", f"now={NOW.isoformat()}")
    command = (find_binaries() / "psql", "-Xq", *variables, "-f", SQL / f"{file}.sql", lab.url(name, "postgres"))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
