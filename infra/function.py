"""What all functions share: runtime, layers, log group, and a role that starts with almost nothing."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.checks import acknowledge
from infra.dependencies import ROOT
from infra.layers import ARCHITECTURE, JUNK, RUNTIME, Layers
from infra.logs import log_group
from infra.metrics import NAMESPACE
from infra.network import ISOLATED, Network
from infra.settings import Settings

# https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
ATTACH_TO_NETWORK = [
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
]


class Function(Construct):
    """One step's Lambda function, with a role, a log group and, inside the network, a security group of its own."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        step: str,
        settings: Settings,
        layers: Layers,
        environment: Mapping[str, str],
        timeout: Duration,
        memory_mb: int,
        network: Network | None = None,
        concurrency: int = 0,
    ) -> None:
        super().__init__(scope, construct_id)
        self.step = step
        log = log_group(self, "Log", settings=settings)
        self.role = _role(self, settings, network)
        log.grant_write(self.role)
        self.security_groups = [] if network is None else [network.security_group(self, f"The {step} function")]
        self.function = lambda_.Function(
            self,
            "Resource",
            description=f"Mailfold: {step}",
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            code=lambda_.Code.from_asset(str(ROOT / "functions" / step), exclude=JUNK),
            handler="handler.handler",
            layers=[layers.mailfold, layers.dependencies],
            environment=_common_environment(step, settings) | dict(environment),
            timeout=timeout,
            memory_size=memory_mb,
            reserved_concurrent_executions=concurrency or None,
            role=self.role,
            log_group=log,
            tracing=lambda_.Tracing.ACTIVE if settings.tracing else lambda_.Tracing.DISABLED,
            vpc=network.vpc if network else None,
            vpc_subnets=ISOLATED if network else None,
            security_groups=self.security_groups or None,
        )


def _common_environment(step: str, settings: Settings) -> dict[str, str]:
    return {
        "POWERTOOLS_SERVICE_NAME": step,
        "POWERTOOLS_METRICS_NAMESPACE": NAMESPACE,
        "POWERTOOLS_LOG_LEVEL": settings.log_level,
    }


def _role(scope: Construct, settings: Settings, network: Network | None) -> iam.Role:
    """Create a role without AWS's managed policies, which allow writing to every log group of the account."""
    role = iam.Role(scope, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    if settings.tracing:
        acknowledge(role, {"AwsSolutions-IAM5[Resource::*]": "X-Ray has no resources that a policy could name."})
    if network is not None:
        role.add_to_policy(iam.PolicyStatement(actions=ATTACH_TO_NETWORK, resources=["*"]))
        role.add_to_policy(_deny_to_code(ATTACH_TO_NETWORK))
        acknowledge(
            role, {"AwsSolutions-IAM5[Resource::*]": "Lambda's own use, before a network interface has a name."}
        )
    return role


def _deny_to_code(actions: list[str]) -> iam.PolicyStatement:
    """Keep for Lambda itself what the function's code has no use for.

    Only requests made with the function's own credentials carry the key:
    https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
    """
    return iam.PolicyStatement(
        effect=iam.Effect.DENY,
        actions=actions,
        resources=["*"],
        conditions={"Null": {"lambda:SourceFunctionArn": "false"}},
    )
