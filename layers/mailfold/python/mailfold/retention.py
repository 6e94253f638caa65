"""How long each table keeps its rows."""

from collections.abc import Mapping
from typing import Any

from mailfold.errors import SettingsError

#: Days per table, in the order in which prune takes them; each has a statement prune_<table>.sql.
DEFAULT_DAYS = {"events": 30, "statuses": 90, "claims": 30, "outbox": 7, "dead_letters": 90}

#: The longest retry of any provider is 76 h (Standard Webhooks' schedule; SESMetric 72 h), and a fifth is margin.
#: A redelivery must find the event and the claim it repeats, or it is folded a second time.
DEDUPE_FLOOR_DAYS = 4
FLOOR_DAYS = {"events": DEDUPE_FLOOR_DAYS, "statuses": DEDUPE_FLOOR_DAYS, "claims": DEDUPE_FLOOR_DAYS}


def check_retention(days: Mapping[str, Any]) -> dict[str, int]:
    """Return the windows of all tables, the defaults filled in; refuse one that would lose what is still needed."""
    unknown = days.keys() - DEFAULT_DAYS.keys()
    if unknown:
        raise SettingsError(f"retention: unknown table {sorted(unknown)[0]!r}; known are {', '.join(DEFAULT_DAYS)}")
    windows = {**DEFAULT_DAYS, **days}
    for table, window in windows.items():
        floor = FLOOR_DAYS.get(table, 1)
        if isinstance(window, bool) or not isinstance(window, int) or not floor <= window <= 3650:
            raise SettingsError(
                f"retention.{table} must be a whole number of days from {floor} to 3650, not {window!r}"
            )
    return windows
