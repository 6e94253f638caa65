"""Log lines and metrics of one step; neither ever holds a secret, a signature, an address or a body."""

from collections import Counter

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

#: Every metric, by the step that counts it. Alarms and dashboards use these names.
METRICS = {
    "receive": (
        "RequestsAccepted",
        "RequestsRefused",
        "VerificationFailed",
        "RequestsPutOff",
        "SecretUnavailable",
        "EventsReceived",
    ),
    "process": (
        "EventsNew",
        "EventsDuplicate",
        "EventsConflict",
        "EventsDead",
        "RecordsFailed",
    ),
    "prune": ("RowsPruned", "PruneUnfinished"),
    "sweep": ("AddressesStopped", "AddressesReleased"),
    "migrate": ("MigrationsApplied",),
}


class Telemetry:
    """Counts and says what one step did."""

    def __init__(self, step: str) -> None:
        self._step = step
        self._logger = Logger(service=step)
        self._counts: Counter[tuple[str | None, str]] = Counter()

    def count(self, metric: str, value: int = 1, *, source: str | None = None) -> None:
        """Add to a metric of this step, of one source where one is known."""
        if metric not in METRICS[self._step]:
            raise KeyError(metric)
        self._counts[source, metric] += value

    def say(self, message: str, **facts: str | int | None) -> None:
        """Write one line with its facts."""
        self._logger.info(message, extra=facts)

    def warn(self, message: str, **facts: str | int | None) -> None:
        """Write one line that somebody should look at."""
        self._logger.warning(message, extra=facts)

    def flush(self) -> None:
        """Write the counts in the embedded metric format, a blob per source."""
        for source in {source for source, _ in self._counts}:
            metrics = EphemeralMetrics(service=self._step)
            if source is not None:
                metrics.add_dimension(name="source", value=source)
            for (owner, metric), value in self._counts.items():
                if owner == source:
                    metrics.add_metric(name=metric, unit=MetricUnit.Count, value=value)
            metrics.flush_metrics()
        self._counts.clear()
