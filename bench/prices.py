"""The price table, read from docs/cost.md itself, so that the page and the program cannot differ."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "cost.md"
_ROW = re.compile(r"^\| `(?P<name>[a-z0-9_.]+)` \| \$(?P<dollars>[0-9.]+) \| (?P<unit>[^|]+?) \|", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Dollars for one of each unit, free tiers left out."""

    api_request: float
    #: Of requests beyond `API_TIER` in a month.
    api_request_beyond: float
    lambda_request: float
    lambda_gb_second: float
    sqs_request: float
    sns_publish: float
    log_gb: float
    metric_month: float
    secret_month: float
    secret_read: float
    dynamodb_write: float
    rds_storage_gb_month: float
    #: instance class -> an hour of it
    rds_hour: Mapping[str, float]


def parse(text: str) -> Prices:
    """Read the rows of the table; a price that is missing or not known is an error."""
    found = {row["name"]: float(row["dollars"]) / _units(row["unit"]) for row in _ROW.finditer(text)}
    hours = {name.removeprefix("rds_hour."): found.pop(name) for name in list(found) if name.startswith("rds_hour.")}
    return Prices(**found, rds_hour=hours)


def read() -> Prices:
    """Read the page."""
    return parse(PAGE.read_text())


def _units(words: str) -> float:
    """Return how many units a price is for: `1,000,000 requests`, `GB`, `10,000 calls`."""
    number = words.split()[0].replace(",", "")
    return float(number) if number.isdigit() else 1.0
