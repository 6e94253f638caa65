"""The steps that the clock calls: each a function, its schedule, and one queue for runs that did not succeed."""

from collections.abc import Mapping

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk.aws_lambda_destinations import SqsDestination
from aws_cdk.aws_scheduler_targets import LambdaInvoke
from constructs import Construct

from infra.database import Database
from infra.function import Function
from infra.layers import Layers
from infra.network import Network
from infra.queue import dead_letter_queue
from infra.settings import Settings

TIMEOUT = Duration.minutes(5)


class Scheduled(Construct):
    """One step that the clock calls; a prompt one is called again so soon that it needs no second try."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        step: str,
        role: str,
        when: scheduler.ScheduleExpression,
        settings: Settings,
        layers: Layers,
        network: Network,
        database: Database,
        environment: Mapping[str, str],
        prompt: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Function",
            step=step,
            settings=settings,
            layers=layers,
            network=network,
            timeout=TIMEOUT,
            memory_mb=256,
            environment={"DATABASE_URL": database.url(role), **environment},
        )
        self.dead_letters = dead_letter_queue(self, "DeadLetters")
        # The scheduler only sees whether Lambda took the event. What the run itself came to is told here.
        self.function.function.configure_async_invoke(
            retry_attempts=0 if prompt else 2,
            max_event_age=Duration.minutes(1) if prompt else Duration.hours(1),
            on_failure=SqsDestination(self.dead_letters),
        )
        self._schedule(step, when, prompt)

    def _schedule(self, step: str, when: scheduler.ScheduleExpression, prompt: bool) -> None:
        scheduler.Schedule(
            self,
            "Schedule",
            description=f"Mailfold: {step}",
            schedule=when,
            time_window=scheduler.TimeWindow.off() if prompt else scheduler.TimeWindow.flexible(Duration.minutes(15)),
            target=LambdaInvoke(
                self.function.function,
                role=self._scheduler_role(),
                dead_letter_queue=self.dead_letters,
                retry_attempts=0 if prompt else 3,
                max_event_age=Duration.minutes(1) if prompt else Duration.hours(1),
            ),
        )

    def _scheduler_role(self) -> iam.IRole:
        """Create a role for exactly this call; the one that the CDK would make may invoke every version too."""
        stack = Stack.of(self)
        group = stack.format_arn(service="scheduler", resource="schedule-group", resource_name="default")
        principal = iam.ServicePrincipal(
            "scheduler.amazonaws.com",
            conditions={"StringEquals": {"aws:SourceAccount": stack.account, "aws:SourceArn": group}},
        )
        role = iam.Role(self, "SchedulerRole", assumed_by=principal)
        role.add_to_policy(
            iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[self.function.function.function_arn])
        )
        self.dead_letters.grant_send_messages(role)
        return role.without_policy_updates()
