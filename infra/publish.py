"""publish: puts committed changes on an event bus, every minute; exists only where it is switched on."""

from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra.database import Database
from infra.layers import Layers
from infra.network import Network
from infra.scheduled import Scheduled
from infra.settings import Settings

#: The database role of this step; the migrations create it.
ROLE = "mailfold_publish"


class Publish(Scheduled):
    """The bus, the function, its schedule, and the one way out of the network."""

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
        super().__init__(
            scope,
            construct_id,
            step="publish",
            role=ROLE,
            when=scheduler.ScheduleExpression.rate(Duration.minutes(1)),
            settings=settings,
            layers=layers,
            network=network,
            database=database,
            environment={},
            prompt=True,
        )
        self.bus = events.EventBus(self, "Bus", description="Mailfold: what changed about messages and addresses")
        self.function.function.add_environment("BUS_NAME", self.bus.event_bus_name)
        self._open_way_out(settings, network)

    def grant_put(self, grantee: iam.IGrantable) -> None:
        """Allow putting events on this bus."""
        self.bus.grant_put_events_to(grantee)

    def _open_way_out(self, settings: Settings, network: Network) -> None:
        """Lead from this function to EventBridge, to this bus only, and to nothing else."""
        group = network.security_group(self, "The endpoint of EventBridge")
        # Paid for by the zone. While the only one is away the outbox waits, as the queue does for the database.
        zones = 2 if settings.database_multi_az else 1
        endpoint = ec2.InterfaceVpcEndpoint(
            self,
            "Endpoint",
            vpc=network.vpc,
            service=ec2.InterfaceVpcEndpointAwsService.EVENTBRIDGE,
            subnets=ec2.SubnetSelection(subnets=network.vpc.isolated_subnets[:zones]),
            security_groups=[group],
            open=False,
        )
        endpoint.add_to_policy(
            iam.PolicyStatement(
                principals=[iam.ArnPrincipal(self.function.role.role_arn)],
                actions=["events:PutEvents"],
                resources=[self.bus.event_bus_arn],
            )
        )
        for function_group in self.function.security_groups:
            group.add_ingress_rule(function_group, ec2.Port.HTTPS, "HTTPS")
            function_group.add_egress_rule(group, ec2.Port.HTTPS, "HTTPS")
