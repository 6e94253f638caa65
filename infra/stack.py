"""The one stack: puts the steps together and grants each what it calls, and nothing else."""

from aws_cdk import CfnOutput, Duration, Stack
from constructs import Construct

from infra import operate, process, prune, publish, query, sweep, watch
from infra.alarms import Alarms
from infra.claims import Claims
from infra.dashboard import Dashboard
from infra.database import OWNER, Database
from infra.feedback import Feedback
from infra.function import Function
from infra.layers import Layers
from infra.migrate import Migrate
from infra.network import Network
from infra.queue import Queue
from infra.receive import Receive
from infra.secret import Secret
from infra.settings import Settings
from infra.sources import camel


class MailfoldStack(Stack):
    """The whole of Mailfold: the door, the queue, the database and the functions between them."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings) -> None:
        super().__init__(scope, construct_id, description="Mailfold: email events, folded exactly once")
        window = Duration.seconds(settings.batch_window_seconds)
        self.layers = Layers(self, "Layers")
        self.queue = Queue(self, "Queue", reader_timeout=process.TIMEOUT, batch_window=window)
        self.feedback = None if settings.topic_source is None else Feedback(self, "Feedback", queue=self.queue.queue)
        self._add_door(settings)
        self._add_database(settings)
        self._add_eyes(settings)
        self._add_outputs(settings)

    def _add_door(self, settings: Settings) -> None:
        self.secret = Secret(self, "Secret")
        claims = Claims(self, "Claims")
        self.receive = Receive(
            self,
            "Receive",
            settings=settings,
            layers=self.layers,
            queue=self.queue,
            secret=self.secret,
            claims=claims,
        )
        self.queue.grant_send(self.receive.function.role)
        self.secret.grant_read(self.receive.function.role)
        claims.grant_claim(self.receive.function.role)

    def _add_database(self, settings: Settings) -> None:
        network = Network(self, "Network", settings=settings)
        self.database = Database(self, "Database", settings=settings, network=network)
        self.process = process.Process(
            self,
            "Process",
            settings=settings,
            layers=self.layers,
            network=network,
            database=self.database,
            queue=self.queue,
            topics=self._topics(settings),
        )
        self.prune = prune.Prune(
            self, "Prune", settings=settings, layers=self.layers, network=network, database=self.database
        )
        self.sweep = sweep.Sweep(
            self, "Sweep", settings=settings, layers=self.layers, network=network, database=self.database
        )
        self.watch = watch.Watch(
            self, "Watch", settings=settings, layers=self.layers, network=network, database=self.database
        )
        self.operate = operate.Operate(
            self,
            "Operate",
            settings=settings,
            layers=self.layers,
            network=network,
            database=self.database,
            topics=self._topics(settings),
        )
        self.query = query.Query(
            self,
            "Query",
            settings=settings,
            layers=self.layers,
            network=network,
            database=self.database,
            receive=self.receive,
            topics=self._topics(settings),
        )
        self.publish = self._publish(settings, network) if settings.publish else None
        self.migrate = Migrate(
            self, "Migrate", settings=settings, layers=self.layers, network=network, database=self.database
        )
        self.queue.queue.grant_consume_messages(self.process.function.role)
        self._admit(self.process.function, process.ROLE)
        self._admit(self.prune.function, prune.ROLE)
        self._admit(self.sweep.function, sweep.ROLE)
        self._admit(self.watch.function, watch.ROLE)
        self._admit(self.operate.function, operate.ROLE)
        self._admit(self.query.function, query.ROLE)
        self._admit(self.migrate.function, OWNER)
        # New code must not meet the old schema, neither when the mapping starts nor when a deploy replaces the code.
        self.migrate.trigger.execute_before(
            self.process.function.function,
            self.process.mapping,
            self.prune.function.function,
            self.sweep.function.function,
            self.watch.function.function,
            self.operate.function.function,
            self.query.function.function,
            *([self.publish.function.function] if self.publish else []),
        )

    def _publish(self, settings: Settings, network: Network) -> publish.Publish:
        step = publish.Publish(
            self, "Publish", settings=settings, layers=self.layers, network=network, database=self.database
        )
        step.grant_put(step.function.role)
        self._admit(step.function, publish.ROLE)
        return step

    def _add_eyes(self, settings: Settings) -> None:
        functions = [it for it in self.node.find_all() if isinstance(it, Function)]
        self.alarms = Alarms(
            self,
            "Alarms",
            settings=settings,
            queue=self.queue,
            receive=self.receive,
            database=self.database,
            functions=functions,
        )
        self.dashboard = Dashboard(
            self,
            "Dashboard",
            settings=settings,
            queue=self.queue,
            receive=self.receive,
            database=self.database,
            functions=functions,
        )

    def _admit(self, function: Function, role: str) -> None:
        self.database.grant_login(function.role, role)
        for group in function.security_groups:
            self.database.admit(group)

    def _topics(self, settings: Settings) -> dict[str, str]:
        if self.feedback is None or settings.topic_source is None:
            return {}
        return {self.feedback.topic.topic_arn: settings.topic_source}

    def _add_outputs(self, settings: Settings) -> None:
        outputs = {f"WebhookUrl{camel(source)}": self.receive.url(source) for source in settings.http_sources} | {
            "QueueUrl": self.queue.queue.queue_url,
            "DeadLetterQueueUrl": self.queue.dead_letters.queue_url,
            "SecretArn": self.secret.secret.secret_arn,
            "DatabaseEndpoint": self.database.instance.db_instance_endpoint_address,
            "PruneFunctionName": self.prune.function.function.function_name,
            "SweepFunctionName": self.sweep.function.function.function_name,
            "OperateFunctionName": self.operate.function.function.function_name,
            "QueryUrl": f"{self.query.url}/v1",
            "ConsoleUrl": f"{self.query.url}/console",
            "WatchFunctionName": self.watch.function.function.function_name,
            "AlarmTopicArn": self.alarms.topic.topic_arn,
            "DashboardName": self.dashboard.dashboard.dashboard_name,
            "MigrateFunctionName": self.migrate.function.function.function_name,
        }
        if self.feedback is not None:
            outputs["TopicArn"] = self.feedback.topic.topic_arn
            outputs["ConfigurationSetName"] = self.feedback.configuration_set.configuration_set_name
        if self.publish is not None:
            outputs["BusName"] = self.publish.bus.event_bus_name
            outputs["PublishFunctionName"] = self.publish.function.function.function_name
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)
