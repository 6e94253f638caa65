"""Deploy the synthesised template into the emulator, through CloudFormation."""

import json
import pkgutil
import time
from pathlib import Path
from typing import Any

import samples
from cli.local_aws import client
from infra.dependencies import build_dependencies
from local import assembly
from local.changes import Place
from local.edits import edited
from local.errors import LocalError
from local.postgres import PostgresServer
from samples import sampler

DEPLOY_SECONDS = 120.0
DATABASE = "mailfold"
DEPENDENCIES_KEY = "dependencies-of-this-machine.zip"
TEMPLATE_KEY = "template-of-this-machine.json"
#: What `cdk bootstrap` writes, and the template's own rule asks for.
BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"


def deploy(folder: Path, endpoint: str, server: PostgresServer) -> dict[str, str]:
    """Deploy the assembly in `folder` and return the stack's outputs."""
    place = Place(
        database_url=lambda role: server.url(DATABASE, role),
        dependencies_key=DEPENDENCIES_KEY,
        samples={name: sampler(name).OPTIONS for name in _sampled_providers()},
    )
    template = json.dumps(edited(assembly.read_template(folder), place))
    address = _bootstrap(folder, endpoint, template)
    cloudformation = client("cloudformation", endpoint)
    cloudformation.create_stack(
        StackName=assembly.STACK, TemplateURL=address, Capabilities=["CAPABILITY_NAMED_IAM"], DisableRollback=True
    )
    return _await_outputs(cloudformation)


def _sampled_providers() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(samples.__path__)]


def _bootstrap(folder: Path, endpoint: str, template: str) -> str:
    """Provide what `cdk bootstrap` and `cdk deploy` would: the parameter, the bucket, the assets and the template."""
    client("ssm", endpoint).put_parameter(Name=BOOTSTRAP_PARAMETER, Value="21", Type="String")
    s3 = client("s3", endpoint)
    assets = assembly.read_assets(folder)
    for bucket in sorted({asset.bucket for asset in assets}):
        s3.create_bucket(Bucket=bucket)
        layer = build_dependencies(platform=None, python_version=None)
        s3.put_object(Bucket=bucket, Key=DEPENDENCIES_KEY, Body=assembly.zipped_once(layer))
    for asset in assets:
        if asset.key in template:
            s3.put_object(Bucket=asset.bucket, Key=asset.key, Body=assembly.zipped(asset.folder))
    # CloudFormation takes 51,200 bytes in a call, and from a bucket a megabyte.
    s3.put_object(Bucket=assets[0].bucket, Key=TEMPLATE_KEY, Body=template.encode())
    return f"{endpoint}/{assets[0].bucket}/{TEMPLATE_KEY}"


def _await_outputs(cloudformation: Any) -> dict[str, str]:
    deadline = time.monotonic() + DEPLOY_SECONDS
    while True:
        (stack,) = cloudformation.describe_stacks(StackName=assembly.STACK)["Stacks"]
        if stack["StackStatus"] == "CREATE_COMPLETE":
            return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
        if stack["StackStatus"] != "CREATE_IN_PROGRESS" or time.monotonic() > deadline:
            raise LocalError(f"The deploy ended as {stack['StackStatus']}: {_reasons(cloudformation)}")
        time.sleep(0.1)


def _reasons(cloudformation: Any) -> str:
    events = cloudformation.describe_stack_events(StackName=assembly.STACK)["StackEvents"]
    failed = [event for event in events if event["ResourceStatus"].endswith("FAILED")]
    return "; ".join(f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', '?')}" for event in failed)
