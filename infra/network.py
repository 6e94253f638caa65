"""The network: two isolated subnets, and no way in or out of them by itself."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from infra.logs import log_group
from infra.settings import Settings

ISOLATED = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)


class Network(Construct):
    """A VPC for the database and the functions that use it; only publish calls an AWS API, so it has no other exit."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            # RDS demands a subnet group of two zones even for a database in one.
            max_azs=2,
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="Isolated", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=24)
            ],
            # Emptying the default group takes a custom resource that may edit security groups; nothing is ever in it.
            restrict_default_security_group=False,
        )
        # Refused packets are all that can go wrong in here, and a missing rule shows only as a connection timeout.
        self.vpc.add_flow_log(
            "Refused",
            traffic_type=ec2.FlowLogTrafficType.REJECT,
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(log_group(self, "RefusedLog", settings=settings)),
        )

    def security_group(self, scope: Construct, description: str) -> ec2.SecurityGroup:
        """Create a group that reaches nothing until it is allowed to."""
        return ec2.SecurityGroup(
            scope, "SecurityGroup", vpc=self.vpc, description=description, allow_all_outbound=False
        )
