"""doctor on the running stack: clean as deployed, and each planted misconfiguration is found and can be fixed."""

import argparse
import json
import re
from typing import Any

import pg8000.native
import pytest

from cli.checks import probe
from cli.doctor import CHECKS, examine
from cli.local_stack import Stack
from cli.place import Place, local_place
from local.options import ROOT
from tests.e2e.inject import InjectedStack, Misconfiguration
from tests.e2e.misconfigurations import MISCONFIGURATIONS
from tests.e2e.support import LocalRun

#: What differs from stack to stack: addresses, ARNs and generated names.
NAMES = re.compile(
    r"https?://[^\s'\"]+|arn:[^\s'\"\\,}]+|Mailfold-[\w-]+|\w*ConfigurationSet\w*-[\w-]+|[0-9a-f]{8}-[0-9a-f-]{27}"
)


@pytest.fixture(scope="module")
def place(running: LocalRun, stack: Stack) -> Place:
    """The stack as the command line reaches it."""
    return local_place(running.state)


@pytest.fixture
def injected(place: Place, database: pg8000.native.Connection) -> InjectedStack:
    return InjectedStack(place=place, database=database)


def doctor(place: Place, capsys: pytest.CaptureFixture[str], **options: Any) -> tuple[int, dict[str, Any]]:
    arguments = {"json": True, "only": None, "no_probe": True, **options}
    code = examine(argparse.Namespace(**arguments), place)
    return code, json.loads(capsys.readouterr().out)


def test_a_stack_as_deployed_is_clean_and_every_source_is_probed(
    injected: InjectedStack, stack: Stack, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "WAIT_SECONDS", 120)

    code, told = doctor(injected.place, capsys, no_probe=False)

    assert (code, told["clean"], told["not_checked"]) == (0, True, 0), told
    assert [each["check"] for each in told["checks"]] == [check.name for check in CHECKS]
    count = len(stack.sources)
    assert told["checks"][-1]["notes"][0].startswith(f"{count} of {count} probes became rows")
    probes = "select count(*) from {} where recipient = 'doctor@mailfold.invalid'"
    assert injected.database.run(probes.format("email_events")) == [[0]]
    assert injected.database.run(probes.format("message_status")) == [[0]]
    assert injected.database.run("select count(*) from suppressions where address like '%mailfold.invalid'") == [[0]]


@pytest.mark.parametrize(
    "misconfiguration", MISCONFIGURATIONS, ids=[misconfiguration.name for misconfiguration in MISCONFIGURATIONS]
)
def test_a_planted_misconfiguration_is_the_one_finding(
    injected: InjectedStack, capsys: pytest.CaptureFixture[str], misconfiguration: Misconfiguration
) -> None:
    with misconfiguration.planted(injected):
        code, told = doctor(injected.place, capsys)

    findings = [finding for each in told["checks"] for finding in each["findings"]]
    assert [(each["what"], NAMES.sub("…", each["fix"])) for each in findings] == [
        (misconfiguration.says, misconfiguration.fix)
    ]
    assert code == 1


def test_nothing_planted_is_left(injected: InjectedStack, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = doctor(injected.place, capsys)

    assert code == 0, told


def test_the_documentation_lists_exactly_what_is_planted() -> None:
    page = (ROOT / "docs/doctor.md").read_text()
    part = page.partition("## What it finds")[2].partition("\n## ")[0]

    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `([^|]+)` \|$", part, re.MULTILINE)

    assert rows == [
        (misconfiguration.name, misconfiguration.says, misconfiguration.fix) for misconfiguration in MISCONFIGURATIONS
    ]
