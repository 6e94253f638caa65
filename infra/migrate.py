"""migrate: brings the schema to its newest version during a deploy, and fails the deploy when it cannot."""

import json

from aws_cdk import CfnResource, Duration, Stack, triggers
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra import connections
from infra.database import OWNER, Database
from infra.function import Function
from infra.layers import Layers
from infra.logs import log_group
from infra.network import Network
from infra.settings import Settings

TIMEOUT = Duration.minutes(10)


class Migrate(Construct):
    """The function and the trigger that calls it whenever it or a layer has changed."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        layers: Layers,
        network: Network,
        database: Database,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Function",
            step="migrate",
            settings=settings,
            layers=layers,
            network=network,
            timeout=TIMEOUT,
            memory_mb=256,
            environment={
                "DATABASE_URL": database.url(OWNER),
                "CONNECTION_LIMITS": json.dumps(connections.limits(settings), separators=(",", ":")),
            },
        )
        self.trigger = triggers.Trigger(
            self,
            "Trigger",
            handler=self.function.function,
            # Longer than the function, so that a deploy hears the function's own last word.
            timeout=TIMEOUT.plus(Duration.seconds(30)),
            execute_after=[database, *self.function.security_groups],
        )
        _confine_caller(self, settings)


def _confine_caller(scope: Construct, settings: Settings) -> None:
    """Give the CDK's own calling function a log that ends, and a role that writes to no other log."""
    caller = Stack.of(scope).node.find_child("AWSCDK.TriggerCustomResourceProviderCustomResourceProvider")
    role, function = caller.node.find_child("Role"), caller.node.find_child("Handler")
    assert isinstance(role, CfnResource)
    assert isinstance(function, CfnResource)
    log = log_group(scope, "CallerLog", settings=settings)
    statement = iam.PolicyStatement(
        actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log.log_group_arn]
    )
    iam.CfnPolicy(
        scope,
        "CallerLogPolicy",
        policy_name="Log",
        policy_document=iam.PolicyDocument(statements=[statement]),
        roles=[role.ref],
    )
    role.add_property_deletion_override("ManagedPolicyArns")
    function.add_property_override("LoggingConfig", {"LogGroup": log.log_group_name})
