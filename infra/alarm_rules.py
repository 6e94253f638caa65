"""What rings and when: one rule per alarm, each with the words and the runbook that go with it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs

from infra import process
from infra.function import Function
from infra.metrics import emitted
from infra.settings import Settings
from infra.sources import camel
from mailfold.source_health import THRESHOLDS

Missing = cloudwatch.TreatMissingData

MINUTE = Duration.minutes(1)
FIVE_MINUTES = Duration.minutes(5)

#: A step that the clock calls -> the metric it counts once per run, the minutes of a period, and how many may be empty.
RUNS = {"prune": ("PruneRuns", 60, 26), "sweep": ("SweepRuns", 60, 3), "watch": ("WatchRuns", 5, 6)}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One alarm: it rings when the metric is on the wrong side of the line for so many periods in a row."""

    name: str
    metric: cloudwatch.Metric
    line: float
    #: What happened, in one sentence.
    says: str
    #: The heading in docs/operations.md that says what to do, as an anchor.
    runbook: str
    periods: int = 1
    #: Ring below the line instead of from the line on.
    below: bool = False
    missing: Missing = Missing.NOT_BREACHING


def queue_rules(queue: sqs.Queue, others: Iterable[sqs.Queue]) -> Iterator[Rule]:
    """Watch how late the queue is, and every queue of what could not be handed on."""
    yield Rule(
        name="QueueAge",
        metric=queue.metric_approximate_age_of_oldest_message(period=MINUTE, statistic="Maximum"),
        # A record that fails once is hidden for six minutes, and would ring if two minutes were enough.
        line=300,
        periods=3,
        says="The oldest record has waited for more than five minutes.",
        runbook="the-queue-is-late",
    )
    for other in others:
        owner = other.node.path.split("/")[1]
        yield Rule(
            name=f"DeadLetters{owner}",
            metric=other.metric_approximate_number_of_messages_visible(period=MINUTE, statistic="Maximum"),
            line=1,
            # SQS falls silent about a queue that nobody touches for six hours, though what is in it is still there.
            missing=Missing.IGNORE,
            says=f"The dead-letter queue of {owner} is not empty.",
            runbook="a-dead-letter-queue-is-not-empty",
        )


def door_rules(api: apigatewayv2.HttpApi, settings: Settings) -> Iterator[Rule]:
    """Watch what the door answers, and to whom."""
    yield Rule(
        name="Api4xx",
        metric=api.metric_client_error(period=FIVE_MINUTES, statistic="Sum"),
        line=20,
        periods=3,
        says="Requests are refused, 20 and more in five minutes.",
        runbook="requests-are-refused",
    )
    yield Rule(
        name="Api5xx",
        metric=api.metric_server_error(period=FIVE_MINUTES, statistic="Sum"),
        line=1,
        periods=2,
        says="Requests are answered 5xx; their providers send them again.",
        runbook="requests-are-put-off",
    )
    yield Rule(
        name="RequestsDeferred",
        metric=emitted("receive", "RequestsDeferred"),
        line=1,
        periods=2,
        says="receive cannot accept requests that it would like to accept.",
        runbook="requests-are-put-off",
    )
    yield Rule(
        name="SecretUnavailable",
        metric=emitted("receive", "SecretUnavailable"),
        line=1,
        says="A source has no usable secret, so none of its requests can be verified.",
        runbook="a-secret-is-unavailable",
    )
    yield Rule(
        name="VerificationFailed",
        metric=emitted("receive", "VerificationFailed"),
        line=50,
        says="50 and more requests of all sources failed verification in five minutes.",
        runbook="verification-fails",
    )
    for source in settings.http_sources:
        yield Rule(
            name=f"VerificationFailed{camel(source)}",
            metric=emitted("receive", "VerificationFailed", source=source, minutes=60),
            line=5,
            says=f"5 and more requests to {source} failed verification in an hour.",
            runbook="verification-fails",
        )


def function_rules(functions: Iterable[Function]) -> Iterator[Rule]:
    """Watch every function alike."""
    for it in functions:
        step = it.step.capitalize()
        yield Rule(
            name=f"Errors{step}",
            metric=it.function.metric_errors(period=FIVE_MINUTES, statistic="Sum"),
            line=1,
            says=f"{it.step} ended in an error or ran out of time.",
            runbook="a-function-fails",
        )
        yield Rule(
            name=f"Throttles{step}",
            metric=it.function.metric_throttles(period=FIVE_MINUTES, statistic="Sum"),
            line=1,
            says=f"Lambda refused to start {it.step}.",
            runbook="a-function-is-throttled",
        )
        if it.step == "process":
            yield Rule(
                name="DurationProcess",
                metric=it.function.metric_duration(period=FIVE_MINUTES, statistic="p99"),
                line=0.8 * process.TIMEOUT.to_milliseconds(),
                periods=3,
                says="process takes more than four fifths of its time for a batch.",
                runbook="process-is-slow",
            )


def process_rules() -> Iterator[Rule]:
    """Watch what process could not fold."""
    for name, says in {
        "EventsDeadLettered": "Events could not be folded; they are kept in dead_letters.",
        "EventsConflict": "Events came again with other content, or under a signature that was used.",
    }.items():
        yield Rule(
            name=name, metric=emitted("process", name), line=1, says=says, runbook="events-are-kept-as-dead-letters"
        )
    yield Rule(
        name="DeadLettersKept",
        metric=emitted("watch", "DeadLetters", statistic="Minimum", minutes=60),
        line=1,
        periods=24,
        # Without watch nobody knows, and nothing has changed.
        missing=Missing.IGNORE,
        says="Dead letters have waited in the database for a day.",
        runbook="events-are-kept-as-dead-letters",
    )
    yield Rule(
        name="RecordsFailed",
        metric=emitted("process", "RecordsFailed"),
        line=1,
        periods=2,
        says="Records go back to the queue again and again.",
        runbook="records-fail",
    )


def query_rules() -> Iterator[Rule]:
    """Watch the readers' API: it answers its own mistakes, so that Lambda counts no error for them."""
    yield Rule(
        name="QueriesFailed",
        metric=emitted("query", "QueriesFailed"),
        line=1,
        periods=2,
        says="Questions to the query API are answered 5xx.",
        runbook="questions-fail",
    )


def clock_rules() -> Iterator[Rule]:
    """Watch the steps that the clock calls: silence is what rings."""
    for step, (name, minutes, periods) in RUNS.items():
        yield Rule(
            name=f"{step.capitalize()}Absent",
            metric=emitted(step, name, minutes=minutes),
            line=1,
            below=True,
            periods=periods,
            missing=Missing.BREACHING,
            says=f"{step} has not finished a run for {minutes * periods} minutes.",
            runbook="a-scheduled-step-did-not-run",
        )
    yield Rule(
        name="PruneUnfinished",
        metric=emitted("prune", "PruneUnfinished", statistic="Maximum", minutes=24 * 60),
        line=1,
        periods=3,
        says="prune has run out of time for three nights.",
        runbook="prune-does-not-finish",
    )


def publish_rules() -> Iterator[Rule]:
    """Watch the way from the outbox to the bus."""
    yield Rule(
        name="OutboxAge",
        metric=emitted("publish", "OutboxAge", statistic="Maximum"),
        line=900,
        periods=3,
        missing=Missing.BREACHING,
        says="The oldest change has waited for a quarter of an hour to be published, or publish does not run.",
        runbook="changes-are-not-published",
    )


def source_rules(source: str) -> Iterator[Rule]:
    """Watch one source: whether it has fallen silent, and whether its mail is still welcome."""
    yield Rule(
        name=f"SourceQuiet{camel(source)}",
        metric=emitted("watch", "SourceQuiet", source=source, statistic="Maximum"),
        line=1,
        periods=3,
        says=f"{source} sends far less than at this hour of other days.",
        runbook="a-source-is-quiet",
    )
    for name, line in THRESHOLDS.items():
        kind = "hard bounces" if name.startswith("HardBounce") else "complaints"
        window = "hour" if name.endswith("Hour") else "day"
        yield Rule(
            name=f"{name}{camel(source)}",
            metric=emitted("watch", name, source=source, statistic="Maximum"),
            line=line.percent,
            says=f"{kind.capitalize()} of {source}: {line.percent:g} % and more of what it sent in the last {window}.",
            runbook=f"{kind.replace(' ', '-')}-are-high",
        )
