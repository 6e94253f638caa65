"""publish: all of it or nothing of it, by one switch; and its way out of the network leads to its bus alone."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.settings import Settings
from tests.infra.calls import calls_of
from tests.infra.template import ROOT, Synthesised, as_list, rendered, synthesise
from tests.infra.test_handlers import runtime, start  # noqa: F401 - runtime is a fixture
from tests.infra.test_layers import layer
from tests.infra.test_permissions import actions, allowed, needed_by_lambda
from tests.infra.test_scheduled import schedule_of


@pytest.fixture(scope="module")
def publishing(tmp_path_factory: pytest.TempPathFactory) -> Synthesised:
    """The stack with publish on, past the built-in rules and cdk-nag."""
    return synthesise(tmp_path_factory.mktemp("publishing"), Settings(publish=True), checked=True)


def test_switched_off_there_is_nothing_of_it(stack: Synthesised) -> None:
    kinds = {it["Type"] for it in stack.resources.values()}

    assert kinds.isdisjoint({"AWS::Events::EventBus", "AWS::EC2::VPCEndpoint"})
    assert not [name for name in [*stack.resources, *stack.template["Outputs"]] if "publish" in name.lower()]
    with pytest.raises(LookupError):
        stack.function("publish")
    for step in ("process", "sweep"):
        assert stack.environment(step)["PUBLISH"] == "false"


def test_switched_on_it_only_adds(stack: Synthesised, publishing: Synthesised) -> None:
    added = {publishing.resources[name]["Type"] for name in publishing.resources.keys() - stack.resources.keys()}

    assert stack.resources.keys() <= publishing.resources.keys()
    assert {"AWS::Events::EventBus", "AWS::EC2::VPCEndpoint", "AWS::Lambda::Function"} <= added
    assert set(publishing.template["Outputs"]) - set(stack.template["Outputs"]) == {"BusName", "PublishFunctionName"}
    for step in ("process", "sweep"):
        assert publishing.environment(step)["PUBLISH"] == "true"


def test_the_function_may_do_exactly_what_it_does_and_on_its_bus(publishing: Synthesised) -> None:
    bus, _ = publishing.only("AWS::Events::EventBus")
    found = calls_of(ROOT / "functions/publish/handler.py", ROOT / "layers/mailfold/python")
    statements = allowed(publishing, "publish")

    (put,) = [it for it in statements if "events:PutEvents" in as_list(it["Action"])]

    assert found.sent == {"events:PutEvents"}
    assert actions(statements) == found.permissions | needed_by_lambda(publishing, "publish")
    assert put["Resource"] == {"Fn::GetAtt": [bus, "Arn"]}
    assert publishing.environment("publish")["BUS_NAME"] == {"Ref": bus}


def test_it_logs_in_as_a_role_of_its_own(publishing: Synthesised) -> None:
    (login,) = [it for it in allowed(publishing, "publish") if it["Action"] == "rds-db:connect"]

    url = rendered(publishing.environment("publish")["DATABASE_URL"])

    assert url == "postgresql://mailfold_publish@stand-in:5432/mailfold?sslmode=verify-full&auth=iam"
    assert rendered(login["Resource"]).endswith("/mailfold_publish")


def rules_of(stack: Synthesised, kind: str, group: Any) -> set[tuple[str, int, int]]:
    """Return with which groups a group may speak, and on which ports."""
    other = {"Ingress": "SourceSecurityGroupId", "Egress": "DestinationSecurityGroupId"}[kind]
    found = stack.all(f"AWS::EC2::SecurityGroup{kind}").values()
    return {(json.dumps(it[other]), it["FromPort"], it["ToPort"]) for it in found if it["GroupId"] == group}


def test_the_way_out_leads_from_this_function_to_this_bus(publishing: Synthesised) -> None:
    _, endpoint = publishing.only("AWS::EC2::VPCEndpoint")
    bus, _ = publishing.only("AWS::Events::EventBus")
    (own,) = publishing.function("publish")[1]["VpcConfig"]["SecurityGroupIds"]
    (at_endpoint,) = endpoint["SecurityGroupIds"]
    (database,) = publishing.only("AWS::RDS::DBInstance")[1]["VPCSecurityGroups"]
    (statement,) = endpoint["PolicyDocument"]["Statement"]

    assert rendered(endpoint["ServiceName"]) == "com.amazonaws.stand-in.events"
    assert endpoint["PrivateDnsEnabled"] is True
    assert (statement["Action"], statement["Resource"]) == ("events:PutEvents", {"Fn::GetAtt": [bus, "Arn"]})
    assert statement["Principal"] == {"AWS": {"Fn::GetAtt": [publishing.role("publish"), "Arn"]}}
    assert rules_of(publishing, "Egress", own) == {
        (json.dumps(at_endpoint), 443, 443),
        (json.dumps(database), 5432, 5432),
    }
    assert rules_of(publishing, "Ingress", at_endpoint) == {(json.dumps(own), 443, 443)}


@pytest.mark.parametrize(("multi_az", "zones"), [(False, 1), (True, 2)])
def test_the_way_out_is_paid_for_in_as_many_zones_as_the_database(multi_az: bool, zones: int, tmp_path: Path) -> None:
    stack = synthesise(tmp_path, Settings(publish=True, database_multi_az=multi_az))

    assert len(stack.only("AWS::EC2::VPCEndpoint")[1]["SubnetIds"]) == zones


def test_it_is_called_every_minute_and_the_next_call_is_the_second_try(publishing: Synthesised) -> None:
    schedule = schedule_of(publishing, "publish")
    name, _ = publishing.function("publish")
    (invoked,) = [
        it for it in publishing.all("AWS::Lambda::EventInvokeConfig").values() if it["FunctionName"] == {"Ref": name}
    ]

    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert schedule["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}
    assert (invoked["MaximumRetryAttempts"], invoked["MaximumEventAgeInSeconds"]) == (0, 60)
    assert invoked["DestinationConfig"]["OnFailure"]["Destination"] == schedule["Target"]["DeadLetterConfig"]["Arn"]


def test_migrate_comes_first(publishing: Synthesised) -> None:
    name, _ = publishing.function("publish")
    (trigger,) = publishing.all("Custom::Trigger")

    assert trigger in publishing.resources[name]["DependsOn"]


def test_the_handler_starts_from_its_assets_alone(publishing: Synthesised, runtime: Path) -> None:  # noqa: F811
    from infra.dependencies import build_dependencies

    _, function = publishing.function("publish")
    mailfold = layer(publishing, "mailfold package") / "python"
    third_party = build_dependencies(platform=None, python_version=None) / "python"
    # What boto3 reads beside its own code, and what Lambda's runtime has too.
    extra = Path(sys.modules["botocore"].__file__ or "").parents[1]

    done = start("publish", publishing, [publishing.asset(function["Code"]), mailfold, third_party, runtime, extra])

    assert done.returncode == 0, done.stderr
    assert {"mailfold", "pg8000", "boto3"} <= set(json.loads(done.stdout))


def test_cfn_lint_finds_nothing(publishing: Synthesised) -> None:
    lint = Path(sys.executable).with_name("cfn-lint")
    template = publishing.folder / "Mailfold.template.json"

    done = subprocess.run(
        [str(lint), "--ignore-checks", "W3005", "--regions", "eu-west-1", "--template", str(template)],
        capture_output=True,
        text=True,
    )

    assert done.stdout + done.stderr == ""
