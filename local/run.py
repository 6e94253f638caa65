"""`make run`: the whole pipeline on this machine, from the template that `cdk deploy` would deploy."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from types import FrameType
from typing import Any

from cli.local_aws import client
from cli.local_stack import Stack
from local.assembly import synthesise
from local.database import connect
from local.deploy import DATABASE, deploy
from local.emulator import Emulator
from local.errors import LocalError
from local.functionlogs import FunctionLogs
from local.keys import local_keys, secret_value
from local.options import Options, read_options
from local.postgres import PostgresServer
from local.stack_info import DeployedFunction, deployed_functions, describe, http_sources
from local.state import StateFolder

OWNER = "mailfold_owner"
#: Whoever uses the console of this machine.
TOKEN_NAME = "local"  # noqa: S105  # nosec B105 - the name of a token, not the token
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """Somebody asked the stack to stop; no library may take this for a failure of its own and try again."""


class Runner:
    """Starts the parts in order and keeps them running until one fails or somebody stops them."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._began_at = time.monotonic()
        self.folder = StateFolder(options.state)
        self.postgres = PostgresServer(
            self.folder.postgres, port=options.pg_port, log=self.folder.logs / "postgres.log"
        )
        self.emulator = Emulator(port=options.port, scratch=self.folder.scratch, log=self.folder.logs / "emulator.log")

    def say(self, sentence: str) -> None:
        """Print one line of progress with the seconds since the start."""
        print(f"{time.monotonic() - self._began_at:6.1f} s  {sentence}", flush=True)

    def run(self, *, reset: bool) -> None:
        """Run until stopped; nothing is left running afterwards, however this ends."""
        with self.folder.claimed(), ExitStack() as parts:
            try:
                if reset:
                    self.folder.forget()
                self.folder.prepare()
                self._watch(self._start(parts))
            finally:
                _ignore_signals()

    def _start(self, parts: ExitStack) -> FunctionLogs:
        known = self.folder.postgres.exists()
        self.say(f"state in {self.folder.path}, {'data of the last run kept' if known else 'new'}")
        parts.enter_context(self.postgres)
        self._create_database()
        self.say(f"Postgres listens on 127.0.0.1:{self.postgres.port}")
        parts.enter_context(self.emulator)
        self.say(f"the emulated AWS listens on {self.emulator.endpoint}")
        synthesise(self.folder.assembly, publish=self._options.publish)
        self.say("template synthesised")
        outputs = deploy(self.folder.assembly, self.emulator.endpoint, self.postgres)
        self.say("template deployed through CloudFormation")
        functions = deployed_functions(self.emulator.endpoint)
        logs = FunctionLogs(
            self.emulator.endpoint, self.folder.logs, {step: found.log_group for step, found in functions.items()}
        )
        parts.callback(logs.move)
        self.say(f"schema migrated: {self._invoke(functions['migrate'].name)}")
        token = self._token(functions["operate"].name)
        # Others begin with what this tells them, so it comes when nothing is left to be done.
        stack = self._publish(outputs, functions)
        self.say("ready")
        print(_greeting(stack, self.folder, token), flush=True)
        return logs

    def _publish(self, outputs: Mapping[str, str], functions: Mapping[str, DeployedFunction]) -> Stack:
        """Give the deployed stack its secrets and tell others where it is."""
        keys = local_keys(self.folder.keys, http_sources(functions))
        stack = describe(
            endpoint=self.emulator.endpoint,
            dsn=self.postgres.url(DATABASE, OWNER),
            outputs=outputs,
            functions=functions,
            keys=keys,
        )
        secrets = client("secretsmanager", self.emulator.endpoint)
        secrets.put_secret_value(SecretId=stack.secret_id, SecretString=secret_value(keys))
        self.folder.publish(stack)
        return stack

    def _token(self, operate: str) -> str:
        """Have a token made for whoever sits here, in place of the one of the last run."""
        arguments = {"name": TOKEN_NAME, "scope": ["raw", "operate"], "replace": True}
        order = {"command": "tokens.add", "arguments": arguments, "by": "local"}
        answer = json.loads(self._invoke(operate, order))
        if not answer["ok"]:
            raise LocalError(f"no token could be made: {answer['error']}")
        token: str = answer["result"]["token"]
        return token

    def _create_database(self) -> None:
        """Make what RDS would have made: the master user, who is no superuser there either, and the database."""
        with connect(self.postgres.url()) as connection:
            if not connection.run("select from pg_roles where rolname = :name", name=OWNER):
                connection.run(f"create role {OWNER} login createrole createdb")
            if not connection.run("select from pg_database where datname = :name", name=DATABASE):
                connection.run(f"create database {DATABASE} owner {OWNER}")

    def _invoke(self, function: str, event: Mapping[str, Any] | None = None) -> str:
        payload_in = json.dumps(event or {}).encode()
        answer = client("lambda", self.emulator.endpoint).invoke(FunctionName=function, Payload=payload_in)
        payload: str = answer["Payload"].read().decode()
        if "FunctionError" in answer:
            reason = json.loads(payload).get("errorMessage", payload)
            raise LocalError(f"{function} failed: {reason} (see {self.folder.logs})")
        return payload

    def _watch(self, logs: FunctionLogs) -> None:
        while True:
            for name, pid in (("Postgres", self.postgres.pid), ("The emulator", self.emulator.pid)):
                if pid is None:
                    raise LocalError(f"{name} has ended by itself; see {self.folder.logs}.")
            logs.move()
            time.sleep(1)


def _greeting(stack: Stack, folder: StateFolder, token: str) -> str:
    doors = ", ".join(name for name, source in stack.sources.items() if source.signer)
    topic = f"\n  {'SES':<12}publish to {stack.topic_arn}" if stack.topic_arn else ""
    return f"""
Mailfold is running. Ctrl-C stops it and keeps the data; make run RESET=1 starts again.

  {"webhooks":<12}POST {stack.base_url}/webhooks/{{source}}
  {"sources":<12}{doors}{topic}
  {"console":<12}{stack.base_url}/console#token={token}
  {"questions":<12}GET {stack.base_url}/v1/sources, with that token as authorization: Bearer
  {"Postgres":<12}{stack.dsn}
  {"AWS":<12}AWS_ENDPOINT_URL={stack.aws_endpoint} AWS_REGION={stack.region}, any keys
  {"logs":<12}{folder.logs}
  {"addresses":<12}{folder.stack}

In another terminal: make demo
"""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise Stopped


def _ignore_signals() -> None:
    # From here on everything is on its way down; a second Ctrl-C must not leave a part of it behind.
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def main() -> None:
    """Parse the arguments, run, and say in one sentence what went wrong."""
    parser = argparse.ArgumentParser(prog="python -m local.run", description=__doc__)
    parser.add_argument("--reset", action="store_true", help="forget the database and the keys of earlier runs")
    arguments = parser.parse_args()
    for number in STOPPING:
        signal.signal(number, _stop)
    try:
        Runner(read_options()).run(reset=arguments.reset)
    except Stopped:
        print("stopped", flush=True)
    except LocalError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
