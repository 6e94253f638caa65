"""Where the stack is that a command is for: on this machine or on AWS, reached in the same way."""

import getpass
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from cli.errors import DECLINED, CommandError, TryAgain
from cli.local_aws import client as local_client
from cli.local_stack import Stack, StackNotRunning, read_stack, state_folder

STACK = "Mailfold"

#: service -> client
Clients = Callable[[str], Any]

#: A call may take as long as its function, and prune has five minutes. It is never made again by itself: the first one
#: may have been carried out.
_ORDERS = Config(
    connect_timeout=5, read_timeout=320, tcp_keepalive=True, retries={"mode": "standard", "total_max_attempts": 1}
)
_QUESTIONS = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 3})


@contextmanager
def asking(whom: str) -> Iterator[None]:
    """Say in one sentence that somebody on AWS did not answer."""
    try:
        yield
    except (BotoCoreError, ClientError) as exc:
        raise CommandError(f"{whom} did not answer: {exc}") from exc


@dataclass(frozen=True, kw_only=True)
class Place:
    """One running stack."""

    client: Clients
    #: What the stack says of itself: the outputs of its template.
    outputs: Mapping[str, str]
    #: Who is asking, for the audit log.
    by: str
    #: The name of the stack in CloudFormation.
    stack: str = STACK
    #: Only for a stack on this machine: where its parts are and what its senders sign with.
    local: Stack | None = None
    _clients: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def aws(self, service: str) -> Any:
        """Return the client of a service, made once."""
        if service not in self._clients:
            self._clients[service] = self.client(service)
        return self._clients[service]

    def order(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Have the operate function carry out one order and return its result."""
        given = {name: value for name, value in arguments.items() if value is not None}
        answer = self.invoke("Operate", {"command": command, "arguments": given, "by": self.by})
        if not answer["ok"]:
            raise (TryAgain if answer.get("again") else CommandError)(answer["error"], DECLINED)
        result: dict[str, Any] = answer["result"]
        return result

    def invoke(self, step: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Call the function of a step and return its answer."""
        try:
            answer = self.aws("lambda").invoke(
                FunctionName=self.output(f"{step}FunctionName"), Payload=json.dumps(payload).encode()
            )
        except (BotoCoreError, ClientError) as exc:
            raise CommandError(f"{step.lower()} could not be called: {exc}") from exc
        told: dict[str, Any] = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise CommandError(f"{step.lower()} failed: {told.get('errorMessage', told)}")
        return told

    def output(self, name: str) -> str:
        """Return one output of the stack."""
        try:
            return self.outputs[name]
        except KeyError:
            raise CommandError(f"the stack has no output {name}: is it an older version? Deploy it again.") from None

    @property
    def base_url(self) -> str:
        """Return where the door is: `{base_url}/webhooks/{source}`."""
        if self.local is not None:
            return self.local.base_url
        urls = [url for name, url in self.outputs.items() if name.startswith("WebhookUrl")]
        if not urls:
            raise CommandError("the stack has no source that comes over HTTP")
        return urls[0].rsplit("/webhooks/", 1)[0]


def local_place(state: Path | None = None) -> Place:
    """Return the stack that runs on this machine."""
    try:
        stack = read_stack(state or state_folder())
    except StackNotRunning as exc:
        raise CommandError(f"{exc} For a stack on AWS name a profile: --profile NAME.") from exc

    def client(service: str) -> Any:
        return local_client(service, stack.aws_endpoint)

    return Place(client=client, outputs=_outputs(client, STACK), by=f"local:{_user()}", local=stack)


def aws_place(*, profile: str | None, region: str | None, stack: str) -> Place:
    """Return the stack that is deployed in the account of a profile."""
    try:
        session = boto3.Session(profile_name=profile, region_name=region)

        def client(service: str) -> Any:
            return session.client(service, config=_ORDERS if service == "lambda" else _QUESTIONS)

        by = client("sts").get_caller_identity()["Arn"]
    except (BotoCoreError, ClientError) as exc:
        raise CommandError(f"AWS cannot be reached: {exc}") from exc
    return Place(client=client, outputs=_outputs(client, stack), by=by, stack=stack)


def is_local(profile: str | None) -> bool:
    """Tell whether a command is for the local stack: it is unless a profile is named, here or by AWS_PROFILE."""
    return not profile and not os.environ.get("AWS_PROFILE")


def _outputs(client: Clients, stack: str) -> dict[str, str]:
    try:
        [found] = client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except (BotoCoreError, ClientError) as exc:
        raise CommandError(f"the stack {stack} cannot be described: {exc}") from exc
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        return str(os.getuid())
