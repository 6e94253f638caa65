"""The dashboard: the flow of events from the door to the database, and what gets in its way."""

from collections.abc import Iterable

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.database import Database
from infra.function import Function
from infra.metrics import emitted
from infra.queue import Queue
from infra.receive import Receive
from infra.settings import Settings
from mailfold.source_health import THRESHOLDS

#: A row of the dashboard is 24 wide.
WIDTH = 8
HEIGHT = 6
MINUTE = Duration.minutes(1)


class Dashboard(Construct):
    """Three columns, in the order in which one looks when something is wrong."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        queue: Queue,
        receive: Receive,
        database: Database,
        functions: Iterable[Function],
    ) -> None:
        super().__init__(scope, construct_id)
        self.dashboard = cloudwatch.Dashboard(self, "Dashboard", default_interval=Duration.days(1))
        self.dashboard.add_widgets(*_flow(settings))
        self.dashboard.add_widgets(*_trouble(receive, queue, list(functions)))
        self.dashboard.add_widgets(*_rates(settings))
        self.dashboard.add_widgets(*_database(database))
        self.dashboard.add_widgets(*_manual_and_scheduled(settings))


def _graph(title: str, *left: cloudwatch.IMetric, right: Iterable[cloudwatch.IMetric] = ()) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, width=WIDTH, height=HEIGHT, left=list(left), right=list(right))


def _of_each(step: str, name: str, sources: Iterable[str], *, statistic: str = "Sum") -> list[cloudwatch.Metric]:
    found = {source: emitted(step, name, source=source, statistic=statistic) for source in sources}
    return [metric.with_(label=f"{source} {name}") for source, metric in found.items()]


def _flow(settings: Settings) -> list[cloudwatch.GraphWidget]:
    # A source that a topic feeds never passes the door.
    received = _of_each("receive", "EventsReceived", settings.http_sources)
    folded = _of_each("process", "EventsNew", settings.sources)
    again = _of_each("process", "EventsDuplicate", settings.sources)
    return [
        _graph("receive: events", *received),
        _graph("process: new events", *folded),
        _graph("process: events seen before", *again),
    ]


def _trouble(receive: Receive, queue: Queue, functions: list[Function]) -> list[cloudwatch.GraphWidget]:
    refused = [emitted("receive", name) for name in ("VerificationFailed", "RequestsDeferred", "SecretUnavailable")]
    answers = [receive.api.metric_client_error(), receive.api.metric_server_error()]
    age = queue.queue.metric_approximate_age_of_oldest_message(period=MINUTE, statistic="Maximum")
    waiting = queue.queue.metric_approximate_number_of_messages_visible(period=MINUTE, statistic="Maximum")
    dead = queue.dead_letters.metric_approximate_number_of_messages_visible(period=MINUTE, statistic="Maximum")
    unfolded = [emitted("process", name) for name in ("EventsDeadLettered", "EventsConflict", "RecordsFailed")]
    errors = [it.function.metric_errors(label=f"{it.step} errors") for it in functions]
    return [
        _graph("receive: refused and put off", *refused, right=answers),
        _graph("The queue: its age, and what waits", age, right=[waiting, dead]),
        _graph("process: not folded; errors of all functions", *unfolded, right=errors),
    ]


def _rates(settings: Settings) -> list[cloudwatch.GraphWidget]:
    def of_sources(name: str) -> list[cloudwatch.Metric]:
        return _of_each("watch", name, settings.sources, statistic="Maximum")

    bounced, complained = (
        [metric for name in THRESHOLDS if name.startswith(kind) for metric in of_sources(name)]
        for kind in ("HardBounce", "Complaint")
    )
    return [
        _graph("watch: hard bounces, percent of what was sent", *bounced),
        _graph("watch: complaints, percent of what was sent", *complained),
        _graph(
            "watch: seconds since the last event",
            *of_sources("SecondsSinceLastEvent"),
            right=of_sources("SourceQuiet"),
        ),
    ]


def _database(database: Database) -> list[cloudwatch.GraphWidget]:
    instance = database.instance
    dead = emitted("watch", "DeadLetters", statistic="Maximum")
    oldest = emitted("watch", "OldestDeadLetterSeconds", statistic="Maximum")
    return [
        _graph(
            "The database: processor and connections",
            instance.metric_cpu_utilization(),
            right=[instance.metric_database_connections()],
        ),
        _graph("The database: free storage", instance.metric_free_storage_space()),
        _graph("watch: dead letters, and the age of the oldest", dead, right=[oldest]),
    ]


def _manual_and_scheduled(settings: Settings) -> list[cloudwatch.GraphWidget]:
    def of_step(step: str, *names: str) -> list[cloudwatch.Metric]:
        return [emitted(step, name, minutes=60) for name in names]

    graphs = [
        _graph("prune: rows deleted", *of_step("prune", "RowsPruned"), right=of_step("prune", "PruneUnfinished")),
        _graph("sweep: addresses stopped and released", *of_step("sweep", "AddressesStopped", "AddressesReleased")),
        _graph("operate: orders", *of_step("operate", "CommandsDone", "CommandsRefused")),
        _graph("query: answers", *of_step("query", "QueriesAnswered", "QueriesRefused", "QueriesFailed")),
        _graph("migrate: migrations applied", *of_step("migrate", "MigrationsApplied")),
    ]
    if settings.publish:
        age = emitted("publish", "OutboxAge", statistic="Maximum")
        published = [emitted("publish", name) for name in ("EventsPublished", "PublishFailed")]
        graphs.append(_graph("publish: events, and the age of the outbox", *published, right=[age]))
    return graphs
