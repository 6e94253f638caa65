"""What a step prints in the embedded metric format, as CloudWatch would read it."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class Printed(NamedTuple):
    """One metric with the dimensions that CloudWatch files it under."""

    name: str
    dimensions: frozenset[tuple[str, str]]


def of(step: str, name: str, source: str | None = None) -> Printed:
    """Name a metric of a step, of one source or of none."""
    dimensions = {"service": step} if source is None else {"service": step, "source": source}
    return Printed(name=name, dimensions=frozenset(dimensions.items()))


def metrics(output: str) -> dict[Printed, float]:
    """Return the metrics of some output with their values; lines of the log are passed over."""
    lines = (json.loads(line) for line in output.splitlines() if line.startswith("{"))
    return {printed: value for blob in lines if "_aws" in blob for printed, value in _of_blob(blob).items()}


def _of_blob(blob: Mapping[str, Any]) -> dict[Printed, float]:
    found: dict[Printed, float] = {}
    for directive in blob["_aws"]["CloudWatchMetrics"]:
        assert directive["Namespace"] == "Mailfold"
        for names in directive["Dimensions"]:
            dimensions = frozenset((name, blob[name]) for name in names)
            found |= {Printed(it["Name"], dimensions): sum(blob[it["Name"]]) for it in directive["Metrics"]}
    return found
