"""The alarms: each rule of this folder, ringing at one topic."""

from collections.abc import Iterable, Iterator

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from aws_cdk.aws_cloudwatch_actions import SnsAction
from constructs import Construct

from infra import alarm_rules
from infra.alarm_rules import Rule
from infra.database import Database
from infra.database_rules import database_rules
from infra.function import Function
from infra.queue import Queue
from infra.receive import Receive
from infra.settings import Settings

#: Where the words about each alarm are.
RUNBOOKS = "docs/operations.md"

Comparison = cloudwatch.ComparisonOperator


class Alarms(Construct):
    """Every alarm of the stack and the topic they ring at; to be made last, because it looks for all queues."""

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
        self.topic = sns.Topic(self, "Topic", display_name="Mailfold", enforce_ssl=True)
        self._let_alarms_ring()
        if settings.alarm_email:
            self.topic.add_subscription(subscriptions.EmailSubscription(settings.alarm_email))
        for rule in self._queue_rules(queue):
            self._add(rule)
        for rule in alarm_rules.function_rules(functions):
            self._add(rule)
        for rule in _rules(settings, receive, database):
            self._add(rule)

    def _queue_rules(self, queue: Queue) -> Iterator[Rule]:
        found = [it for it in Stack.of(self).node.find_all() if isinstance(it, sqs.Queue)]
        others = [it for it in found if it.node.path != queue.queue.node.path]
        return alarm_rules.queue_rules(queue.queue, others)

    def _let_alarms_ring(self) -> None:
        """Let this account's alarms in: a topic with a policy of its own no longer has the one that would."""
        stack = Stack.of(self)
        alarms = stack.format_arn(
            service="cloudwatch", resource="alarm", resource_name="*", arn_format=ArnFormat.COLON_RESOURCE_NAME
        )
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": alarms},
                },
            )
        )

    def _add(self, rule: Rule) -> None:
        alarm = cloudwatch.Alarm(
            self,
            rule.name,
            metric=rule.metric,
            threshold=rule.line,
            evaluation_periods=rule.periods,
            comparison_operator=(
                Comparison.LESS_THAN_THRESHOLD if rule.below else Comparison.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
            ),
            treat_missing_data=rule.missing,
            alarm_description=f"{rule.says} What to do: {RUNBOOKS}#{rule.runbook}",
        )
        action = SnsAction(self.topic)
        alarm.add_alarm_action(action)
        alarm.add_ok_action(action)


def _rules(settings: Settings, receive: Receive, database: Database) -> Iterator[Rule]:
    yield from alarm_rules.door_rules(receive.api, settings)
    yield from alarm_rules.process_rules()
    yield from alarm_rules.clock_rules()
    yield from alarm_rules.query_rules()
    yield from database_rules(database.instance, settings)
    for source in settings.sources:
        yield from alarm_rules.source_rules(source)
    if settings.publish:
        yield from alarm_rules.publish_rules()
