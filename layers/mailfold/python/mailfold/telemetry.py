"""Log lines and metrics of one step; neither ever holds a secret, a signature, an address or a body."""

from collections import defaultdict

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

#: Every metric, by the step that counts it. Alarms and dashboards use these names.
METRICS = {
    "receive": (
        "RequestsAccepted",
        "RequestsRefused",
        "VerificationFailed",
        "RequestsDeferred",
        "SecretUnavailable",
        "EventsReceived",
    ),
    "process": (
        "EventsNew",
        "EventsDuplicate",
        "EventsConflict",
        "EventsDeadLettered",
        "RecordsFailed",
    ),
    "prune": ("PruneRuns", "RowsPruned", "PruneUnfinished"),
    "sweep": ("SweepRuns", "AddressesStopped", "AddressesReleased"),
    "watch": (
        "WatchRuns",
        "HardBouncePercentHour",
        "HardBouncePercentDay",
        "ComplaintPercentHour",
        "ComplaintPercentDay",
        "SecondsSinceLastEvent",
        "SourceQuiet",
        "DeadLetters",
        "OldestDeadLetterSeconds",
    ),
    "publish": ("EventsPublished", "PublishFailed", "OutboxAge"),
    "operate": ("CommandsDone", "CommandsRefused"),
    "query": ("QueriesAnswered", "QueriesRefused", "QueriesFailed"),
    "migrate": ("MigrationsApplied",),
}

#: Whatever is no count.
UNITS = {
    "OutboxAge": MetricUnit.Seconds,
    "HardBouncePercentHour": MetricUnit.Percent,
    "HardBouncePercentDay": MetricUnit.Percent,
    "ComplaintPercentHour": MetricUnit.Percent,
    "ComplaintPercentDay": MetricUnit.Percent,
    "SecondsSinceLastEvent": MetricUnit.Seconds,
    "OldestDeadLetterSeconds": MetricUnit.Seconds,
}

#: What is counted a second time without its source, because CloudWatch adds up no metrics that differ in a dimension.
#: Each of these is billed once more, so only what an alarm watches in sum is here.
SUMMED = frozenset(
    {"VerificationFailed", "RequestsDeferred", "SecretUnavailable", "EventsConflict", "EventsDeadLettered"}
)


class Telemetry:
    """Counts and says what one step did."""

    def __init__(self, step: str) -> None:
        self._step = step
        self._logger = Logger(service=step)
        self._values: dict[tuple[str | None, str], float] = defaultdict(float)

    def count(self, metric: str, value: int = 1, *, source: str | None = None) -> None:
        """Add to a metric of this step, of one source where one is known."""
        self._check(metric)
        self._values[source, metric] += value
        if source is not None and metric in SUMMED:
            self._values[None, metric] += value

    def measure(self, metric: str, value: float, *, source: str | None = None) -> None:
        """Set a metric of this step to what it is now."""
        self._check(metric)
        self._values[source, metric] = value

    def say(self, message: str, **facts: str | int | None) -> None:
        """Write one line with its facts."""
        self._logger.info(message, extra=facts)

    def warn(self, message: str, **facts: str | int | None) -> None:
        """Write one line that somebody should look at."""
        self._logger.warning(message, extra=facts)

    def flush(self) -> None:
        """Write the values in the embedded metric format, a blob per source."""
        for source in {source for source, _ in self._values}:
            metrics = EphemeralMetrics(service=self._step)
            if source is not None:
                metrics.add_dimension(name="source", value=source)
            for (owner, metric), value in self._values.items():
                if owner == source:
                    metrics.add_metric(name=metric, unit=UNITS.get(metric, MetricUnit.Count), value=value)
            metrics.flush_metrics()
        self._values.clear()

    def _check(self, metric: str) -> None:
        if metric not in METRICS[self._step]:
            raise KeyError(metric)
