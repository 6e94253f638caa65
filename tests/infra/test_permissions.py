"""Each function may do what its code does and nothing more, and can reach what it calls."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.infra.calls import Calls, calls_of
from tests.infra.template import IN_THE_NETWORK, ROOT, STEPS, Synthesised, as_list

WRITE_LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
ATTACH = {
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
}
CONSUME = {
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ReceiveMessage",
}
REPORT_FAILURE = {"sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"}

Statement = dict[str, Any]


@cache
def calls(step: str) -> Calls:
    return calls_of(ROOT / f"functions/{step}/handler.py", ROOT / "layers/mailfold/python")


def allowed(stack: Synthesised, step: str) -> list[Statement]:
    return [it for it in stack.statements(stack.role(step)) if it["Effect"] == "Allow"]


def actions(statements: list[Statement]) -> set[str]:
    return {action for it in statements for action in as_list(it["Action"])}


def needed_by_lambda(stack: Synthesised, step: str) -> set[str]:
    """Derive from the rest of the template what Lambda itself does in the function's name."""
    name, function = stack.function(step)
    needed = set(WRITE_LOG)
    if "VpcConfig" in function:
        needed |= ATTACH
    if any(it["FunctionName"] == {"Ref": name} for it in stack.all("AWS::Lambda::EventSourceMapping").values()):
        needed |= CONSUME
    if any(it["FunctionName"] == {"Ref": name} for it in stack.all("AWS::Lambda::EventInvokeConfig").values()):
        needed |= REPORT_FAILURE
    return needed


@pytest.mark.parametrize("step", STEPS)
def test_a_function_may_do_exactly_what_it_does(step: str, stack: Synthesised) -> None:
    assert actions(allowed(stack, step)) == calls(step).permissions | needed_by_lambda(stack, step)


def test_the_calls_of_each_step_are_the_ones_its_design_names() -> None:
    assert {step: calls(step).services for step in STEPS} == {
        "receive": {"sqs", "secretsmanager", "dynamodb"},
        "process": set(),
        "prune": set(),
        "sweep": set(),
        "migrate": set(),
        "query": set(),
    }
    assert {step for step in STEPS if calls(step).signed == {"rds-db:connect"}} == set(IN_THE_NETWORK)


@pytest.mark.parametrize("step", STEPS)
def test_every_permission_names_its_resource(step: str, stack: Synthesised) -> None:
    for statement in allowed(stack, step):
        wild = [it for it in as_list(statement["Resource"]) if "*" in json.dumps(it)]
        if wild:
            assert actions([statement]) == ATTACH
        assert not [action for action in as_list(statement["Action"]) if "*" in action]


@pytest.mark.parametrize("step", IN_THE_NETWORK)
def test_code_may_not_use_what_lambda_needs_for_itself(step: str, stack: Synthesised) -> None:
    (denied,) = [it for it in stack.statements(stack.role(step)) if it["Effect"] == "Deny"]

    assert actions([denied]) == ATTACH
    assert denied["Resource"] == "*"
    assert denied["Condition"] == {"Null": {"lambda:SourceFunctionArn": "false"}}


@pytest.mark.parametrize("step", STEPS)
def test_every_function_can_reach_what_it_calls(step: str, stack: Synthesised) -> None:
    _, function = stack.function(step)
    endpoints = [json.dumps(it["ServiceName"]) for it in stack.all("AWS::EC2::VPCEndpoint").values()]

    if "VpcConfig" in function and not stack.all("AWS::EC2::NatGateway"):
        for service in calls(step).services:
            assert any(f".{service}" in endpoint for endpoint in endpoints), f"{step} has no way to {service}"


def test_each_function_has_a_role_of_its_own(stack: Synthesised) -> None:
    assert len({stack.role(step) for step in STEPS}) == len(STEPS)


HANDLER = """
from ours.steps import work
import boto3
store = work.Store(boto3.client("s3"))
"""
WORK = """
from ours import token
class Store:
    def save(self):
        self.client.put_object(Bucket="b")
        self.client.strip()
"""
TOKEN = """
def make(signer):
    from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer
    DynamoDBPersistenceLayer(table_name="t")
    return signer.generate_presigned_url({}, operation_name="connect", signing_name="rds-db")
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    files = {"handler.py": HANDLER, "ours/__init__.py": "", "ours/steps/__init__.py": ""}
    for name, text in (files | {"ours/steps/work.py": WORK, "ours/token.py": TOKEN, "ours/idle.py": HANDLER}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_reader_follows_imports_to_every_call(code: Path) -> None:
    found = calls_of(code / "handler.py", code)

    dynamodb = {f"dynamodb:{call}Item" for call in ("Get", "Put", "Update", "Delete")}
    assert found.sent == {"s3:PutObject"} | dynamodb
    assert found.signed == {"rds-db:connect"}
    assert found.services == {"s3", "dynamodb"}


@pytest.mark.parametrize(
    "line",
    [
        "import boto3; boto3.client(name)",
        "import boto3; boto3.resource('dynamodb')",
        "client.get_paginator('list_objects')",
        "from . import steps",
        "from aws_lambda_powertools.utilities import parameters",
        "from aws_lambda_powertools.utilities.parameters import get_secret",
    ],
)
def test_the_reader_refuses_what_it_cannot_read(line: str, code: Path) -> None:
    (code / "ours/token.py").write_text(line)

    with pytest.raises(NotImplementedError):
        calls_of(code / "handler.py", code)
