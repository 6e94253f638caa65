"""The database: no password, no public address, no way in but three security groups."""

from pathlib import Path

import pytest
from aws_cdk.assertions import Match

from infra.settings import Settings
from tests.infra.template import IN_THE_NETWORK, Synthesised, rendered, synthesise

ROLES = {
    "process": "mailfold_process",
    "prune": "mailfold_prune",
    "sweep": "mailfold_sweep",
    "migrate": "mailfold_owner",
    "query": "mailfold_query",
}


def test_it_is_postgres_18_small_and_encrypted(stack: Synthesised) -> None:
    stack.matcher.has_resource_properties(
        "AWS::RDS::DBInstance",
        {
            "Engine": "postgres",
            "EngineVersion": Match.string_like_regexp(r"^18\.\d+$"),
            "DBInstanceClass": "db.t4g.micro",
            "StorageType": "gp3",
            "StorageEncrypted": True,
            "AllocatedStorage": "20",
            "MaxAllocatedStorage": 100,
            "MultiAZ": False,
            "DBName": "mailfold",
            "EnablePerformanceInsights": False,
            "AutoMinorVersionUpgrade": True,
        },
    )


def test_nobody_has_a_password(stack: Synthesised) -> None:
    _, instance = stack.only("AWS::RDS::DBInstance")

    assert instance["MasterUsername"] == "mailfold_owner"
    assert instance["MasterUserAuthenticationType"] == "iam-db-auth"
    assert instance["EnableIAMDatabaseAuthentication"] is True
    assert not [key for key in instance if "Password" in key or "Secret" in key]
    stack.matcher.resource_count_is("AWS::SecretsManager::Secret", 1)
    stack.matcher.resource_count_is("AWS::SecretsManager::SecretTargetAttachment", 0)


def test_it_is_not_lost_by_accident(stack: Synthesised) -> None:
    name, instance = stack.only("AWS::RDS::DBInstance")

    assert instance["DeletionProtection"] is True
    assert instance["BackupRetentionPeriod"] == 7
    assert stack.resources[name]["DeletionPolicy"] == "Snapshot"
    assert stack.resources[name]["UpdateReplacePolicy"] == "Snapshot"


def test_it_follows_the_settings(tmp_path: Path) -> None:
    settings = Settings(
        database_class="m7g.large",
        database_multi_az=True,
        database_backup_days=35,
        database_insights=True,
        database_deletion_protection=False,
        database_storage_gb=40,
    )

    stack = synthesise(tmp_path, settings)

    stack.matcher.has_resource_properties(
        "AWS::RDS::DBInstance",
        {
            "DBInstanceClass": "db.m7g.large",
            "MultiAZ": True,
            "BackupRetentionPeriod": 35,
            "EnablePerformanceInsights": True,
            "DeletionProtection": False,
            "AllocatedStorage": "40",
        },
    )


def test_it_speaks_only_tls_and_logs_no_rows(stack: Synthesised) -> None:
    group, parameters = stack.only("AWS::RDS::DBParameterGroup")
    _, instance = stack.only("AWS::RDS::DBInstance")

    assert instance["DBParameterGroupName"] == {"Ref": group}
    assert parameters["Family"] == "postgres18"
    assert parameters["Parameters"] == {"rds.force_ssl": "1", "log_error_verbosity": "terse"}


def test_its_log_exists_before_it_and_ends(stack: Synthesised) -> None:
    name, instance = stack.only("AWS::RDS::DBInstance")
    wanted = f"/aws/rds/instance/{instance['DBInstanceIdentifier']}/postgresql"

    ((log, properties),) = [
        (name, it) for name, it in stack.all("AWS::Logs::LogGroup").items() if it.get("LogGroupName") == wanted
    ]

    assert instance["EnableCloudwatchLogsExports"] == ["postgresql"]
    assert properties["RetentionInDays"] == 30
    assert log in stack.resources[name]["DependsOn"]


def test_the_network_has_no_way_in_or_out(stack: Synthesised) -> None:
    kinds = {it["Type"] for it in stack.resources.values()}

    assert kinds.isdisjoint(
        {
            "AWS::EC2::InternetGateway",
            "AWS::EC2::NatGateway",
            "AWS::EC2::Route",
            "AWS::EC2::VPCGatewayAttachment",
            "AWS::EC2::VPCEndpoint",
        }
    )
    zones = [subnet["AvailabilityZone"] for subnet in stack.all("AWS::EC2::Subnet").values()]
    assert zones == [{"Fn::Select": [index, {"Fn::GetAZs": ""}]} for index in (0, 1)]
    assert not any(subnet.get("MapPublicIpOnLaunch") for subnet in stack.all("AWS::EC2::Subnet").values())
    assert stack.only("AWS::RDS::DBInstance")[1]["PubliclyAccessible"] is False
    assert stack.only("AWS::EC2::FlowLog")[1]["TrafficType"] == "REJECT"


def test_database_and_functions_share_the_isolated_subnets(stack: Synthesised) -> None:
    subnets = [{"Ref": name} for name in stack.all("AWS::EC2::Subnet")]

    assert stack.only("AWS::RDS::DBSubnetGroup")[1]["SubnetIds"] == subnets
    for step in IN_THE_NETWORK:
        assert stack.function(step)[1]["VpcConfig"]["SubnetIds"] == subnets


def test_only_the_three_functions_reach_it_and_they_reach_nothing_else(stack: Synthesised) -> None:
    (database,) = stack.only("AWS::RDS::DBInstance")[1]["VPCSecurityGroups"]
    groups = [stack.function(step)[1]["VpcConfig"]["SecurityGroupIds"] for step in IN_THE_NETWORK]
    ingress = stack.all("AWS::EC2::SecurityGroupIngress").values()
    egress = stack.all("AWS::EC2::SecurityGroupEgress").values()

    assert [[it["SourceSecurityGroupId"]] for it in ingress] == groups
    assert [[it["GroupId"]] for it in egress] == groups
    assert all(it["GroupId"] == database for it in ingress)
    assert all(it["DestinationSecurityGroupId"] == database for it in egress)
    for rule in (*ingress, *egress):
        assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", 5432, 5432)
    for group in stack.all("AWS::EC2::SecurityGroup").values():
        assert "SecurityGroupIngress" not in group
        assert [it["CidrIp"] for it in group.get("SecurityGroupEgress", [])] in ([], ["255.255.255.255/32"])


@pytest.mark.parametrize("step", IN_THE_NETWORK)
def test_each_function_logs_in_as_its_own_role_over_verified_tls(step: str, stack: Synthesised) -> None:
    instance, _ = stack.only("AWS::RDS::DBInstance")
    (login,) = [it for it in stack.statements(stack.role(step)) if it["Action"] == "rds-db:connect"]

    url = stack.environment(step)["DATABASE_URL"]

    assert rendered(url) == f"postgresql://{ROLES[step]}@stand-in:5432/mailfold?sslmode=verify-full&auth=iam"
    assert {"Fn::GetAtt": [instance, "Endpoint.Address"]} in url["Fn::Join"][1]
    assert rendered(login["Resource"]).endswith(f"/{ROLES[step]}")
    assert {"Fn::GetAtt": [instance, "DbiResourceId"]} in login["Resource"]["Fn::Join"][1]
