"""The database: Postgres on RDS, reached by IAM token over TLS from this stack's functions only."""

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_rds as rds
from constructs import Construct

from infra.checks import acknowledge
from infra.logs import log_group
from infra.network import ISOLATED, Network
from infra.settings import Settings

ENGINE = rds.DatabaseInstanceEngine.postgres(version=rds.PostgresEngineVersion.VER_18_3)
NAME = "mailfold"
PORT = 5432

#: The master user, which only migrate may be.
OWNER = "mailfold_owner"

PARAMETERS = {
    "rds.force_ssl": "1",
    # The detail of an error quotes the row that caused it, and rows hold addresses; the log goes to CloudWatch.
    "log_error_verbosity": "terse",
}


class Database(Construct):
    """One Postgres instance that nobody can reach or log in to until it is allowed to."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, network: Network) -> None:
        super().__init__(scope, construct_id)
        self.security_group = network.security_group(self, "The database")
        identifier = Stack.of(self).stack_name.lower()
        # RDS would create this group by itself, and would keep every line for ever.
        log = log_group(self, "Log", settings=settings, name=f"/aws/rds/instance/{identifier}/postgresql")
        self.instance = self._instance(identifier, settings, network)
        self.instance.node.add_dependency(log)
        _authenticate_master_by_iam(self.instance)
        self._acknowledge(settings)

    def _instance(self, identifier: str, settings: Settings, network: Network) -> rds.DatabaseInstance:
        return rds.DatabaseInstance(
            self,
            "Instance",
            engine=ENGINE,
            # The log group must have its name before the instance exists. It also makes a change that would replace the
            # database fail instead of starting an empty one.
            instance_identifier=identifier,
            instance_type=ec2.InstanceType(settings.database_class),
            database_name=NAME,
            credentials=rds.Credentials.from_username(OWNER),
            manage_master_user_password=True,
            port=PORT,
            vpc=network.vpc,
            vpc_subnets=ISOLATED,
            security_groups=[self.security_group],
            publicly_accessible=False,
            multi_az=settings.database_multi_az,
            storage_type=rds.StorageType.GP3,
            allocated_storage=settings.database_storage_gb,
            max_allocated_storage=settings.database_max_storage_gb,
            storage_encrypted=True,
            iam_authentication=True,
            parameter_group=rds.ParameterGroup(self, "Parameters", engine=ENGINE, parameters=PARAMETERS),
            backup_retention=Duration.days(settings.database_backup_days),
            copy_tags_to_snapshot=True,
            cloudwatch_logs_exports=["postgresql"],
            enable_performance_insights=settings.database_insights,
            auto_minor_version_upgrade=True,
            deletion_protection=settings.database_deletion_protection,
            removal_policy=RemovalPolicy.SNAPSHOT,
        )

    def url(self, role: str) -> str:
        """Return where to connect as this role: by IAM token, and only to a server that proves its name."""
        address = f"{self.instance.db_instance_endpoint_address}:{self.instance.db_instance_endpoint_port}"
        return f"postgresql://{role}@{address}/{NAME}?sslmode=verify-full&auth=iam"

    def admit(self, group: ec2.SecurityGroup) -> None:
        """Open the way between one function's group and the database, and no other."""
        port = ec2.Port.tcp(PORT)
        self.security_group.add_ingress_rule(group, port, "Postgres")
        group.add_egress_rule(self.security_group, port, "Postgres")

    def grant_login(self, grantee: iam.IGrantable, role: str) -> None:
        """Allow logging in as this one role."""
        self.instance.grant_connect(grantee, role)

    def _acknowledge(self, settings: Settings) -> None:
        reason = "The port is no secret: only the functions' security groups reach it, in subnets without a route."
        acknowledge(self.instance, {"AwsSolutions-RDS11": reason})
        if not settings.database_multi_az:
            reason = "One zone by default, database_multi_az for two: the queue holds all events while it is away."
            acknowledge(self.instance, {"AwsSolutions-RDS3": reason})


def _authenticate_master_by_iam(instance: rds.DatabaseInstance) -> None:
    """Give the master user no password at all, not even one that RDS would manage (docs/decisions/0030)."""
    resource = instance.node.default_child
    assert isinstance(resource, rds.CfnDBInstance)
    resource.manage_master_user_password = None
    resource.master_user_authentication_type = "iam-db-auth"
