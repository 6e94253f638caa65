"""The metrics that Mailfold's own code emits, as alarms and graphs name them."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from mailfold.telemetry import METRICS

NAMESPACE = "Mailfold"


def emitted(
    step: str, name: str, *, source: str | None = None, statistic: str = "Sum", minutes: int = 5
) -> cloudwatch.Metric:
    """Name one metric of a step, of one source or of none; a name that no code emits fails the synthesis."""
    if name not in METRICS[step]:
        raise KeyError(f"{step} emits no metric {name}")
    dimensions = {"service": step} if source is None else {"service": step, "source": source}
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map=dimensions,
        statistic=statistic,
        period=Duration.minutes(minutes),
    )
