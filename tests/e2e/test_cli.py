"""The command line against the running stack, as a person calls it."""

import io
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pg8000.native
import pytest

from cli.__main__ import main
from cli.local_stack import Stack
from cli.place import Place, local_place
from local.options import ROOT
from samples import Keys, sampler, signed
from tests.e2e.support import LocalRun, await_that
from tests.e2e.test_pipeline import post

SOURCE = "mailtrap"


@pytest.fixture
def mailfold(running: LocalRun, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run bin/mailfold from a folder that is not the repository's, and that has a module of a tempting name."""
    (tmp_path / "cli.py").write_text("raise SystemExit('the wrong module')")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHONPATH"))}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROOT / "bin/mailfold", *arguments],
            cwd=tmp_path,
            env={**environment, "MAILFOLD_STATE": str(running.state)},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def send(stack: Stack, secret: str, marker: str = "") -> int:
    """Send one event as the provider would with this secret."""
    sending = sampler(SOURCE)
    body = sending.body([sending.generate(Random(1), marker or uuid4().hex, datetime.now(UTC))])
    sealed, headers = signed(sending, body, Keys(secret=secret, signer=secret), datetime.now(UTC))
    return post(stack, SOURCE, sealed, headers)[0]


def test_what_happened_is_shown_through_the_function(
    mailfold: Callable[..., Any], stack: Stack, database: pg8000.native.Connection
) -> None:
    marker = f"e2e-{uuid4().hex}"
    assert send(stack, str(stack.sources[SOURCE].secret), marker) == 200
    find = "select message_id, recipient, type from email_events where event_id like :id"
    await_that(lambda: database.run(find, id=f"%{marker}%"))
    [[message, address, kind]] = database.run(find, id=f"%{marker}%")

    status, recipient, totals = (
        mailfold("status", message),
        mailfold("recipient", address),
        mailfold("totals", "--json"),
    )

    assert (status.returncode, recipient.returncode, totals.returncode) == (0, 0, 0), (status, recipient, totals)
    assert address in status.stdout
    assert kind in status.stdout
    assert "be mailed" in recipient.stdout
    assert {"source": SOURCE, "type": kind}.items() <= next(
        row for row in json.loads(totals.stdout)["totals"] if (row["source"], row["type"]) == (SOURCE, kind)
    ).items()


def test_what_the_stack_declines_is_one_sentence_and_3(mailfold: Callable[..., Any]) -> None:
    answer = mailfold("status", "no-such-message")

    assert (answer.returncode, answer.stdout) == (3, "")
    assert answer.stderr == "mailfold: nothing is stored about this message\n"


@pytest.fixture
def secret(running: LocalRun, stack: Stack) -> Iterator[Callable[..., int]]:
    """Run `mailfold secrets` with something on its input; what was there before is put back."""
    place = local_place(running.state)
    manager, secret_id = place.aws("secretsmanager"), place.output("SecretArn")
    before = manager.get_secret_value(SecretId=secret_id)["SecretString"]

    def run(*arguments: str, given: str = "") -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MAILFOLD_STATE", str(running.state))
            patch.setattr("sys.stdin", io.StringIO(f"{given}\n"))
            code = main(["--local", "secrets", *arguments])
        renew_receive(place, stack)
        return code

    yield run
    manager.put_secret_value(SecretId=secret_id, SecretString=before)
    renew_receive(place, stack)


def renew_receive(place: Place, stack: Stack) -> None:
    """Have receive start again: it keeps a secret for minutes."""
    functions, name = place.aws("lambda"), stack.functions["receive"]
    variables = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    functions.update_function_configuration(
        FunctionName=name, Environment={"Variables": {**variables, "RENEWED": uuid4().hex}}
    )
    states = ("State", "LastUpdateStatus")

    def settled() -> bool:
        found = functions.get_function_configuration(FunctionName=name)
        return {found.get(state) for state in states} <= {"Active", "Successful", None}

    await_that(settled)


def test_a_rotation_overlaps_until_it_is_finished(
    secret: Callable[..., int], stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = str(stack.sources[SOURCE].secret), f"new-{uuid4().hex}"

    assert secret("rotate", SOURCE, given=new) == 0
    during = [send(stack, old), send(stack, new)]
    assert secret("rotate", SOURCE, "--finish") == 3
    assert secret("rotate", SOURCE, "--finish", "--now") == 0
    after = [send(stack, old), send(stack, new)]

    assert (during, after) == ([200, 200], [401, 200])
    words = "".join(capsys.readouterr())
    assert "may send requests proven with the old one for 4" in words
    assert old not in words
    assert new not in words


def test_the_others_keep_their_secrets(secret: Callable[..., int], running: LocalRun, stack: Stack) -> None:
    assert secret("set", SOURCE, given=f"new-{uuid4().hex}") == 0

    place = local_place(running.state)
    held = json.loads(place.aws("secretsmanager").get_secret_value(SecretId=place.output("SecretArn"))["SecretString"])
    others = {name: [source.secret] for name, source in stack.sources.items() if source.secret and name != SOURCE}
    assert {name: held[name] for name in others} == others
    assert held[SOURCE] != [stack.sources[SOURCE].secret]
