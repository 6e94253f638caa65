"""The template passes CDK's own rules, cfn-lint and cdk-nag, and every exception to them is a reasoned one."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aws_cdk import Acknowledgment
from constructs import IConstruct

import infra.checks
from infra.settings import Settings
from tests.infra.template import Synthesised, synthesise


@dataclass
class Refused:
    """Takes acknowledgements down and passes none of them on."""

    #: (construct path, rule) -> reason
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    path: str = ""

    def of(self, construct: IConstruct) -> "Refused":
        return Refused(self.reasons, construct.node.path)

    def acknowledge(self, acknowledgment: Acknowledgment) -> None:
        self.reasons[self.path, acknowledgment.id] = acknowledgment.reason


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Refused:
    refused = Refused()
    monkeypatch.setattr(infra.checks, "Validations", refused)
    return refused


def findings(folder: Path) -> list[tuple[str, str]]:
    report = json.loads((folder / "validation-report.json").read_text())
    return [
        (construct["constructPath"], violation["ruleName"])
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
    ]


def test_nothing_is_left_to_find(stack: Synthesised) -> None:
    assert findings(stack.folder) == []


@pytest.mark.parametrize(
    "settings",
    [
        Settings(tracing=True, database_multi_az=True, database_insights=True, publish=True),
        Settings(sources={"eu": {"provider": "sendgrid"}}),
    ],
    ids=["all switches", "no SES"],
)
def test_other_settings_pass_too(settings: Settings, tmp_path: Path) -> None:
    assert findings(synthesise(tmp_path, settings, checked=True).folder) == []


def test_every_acknowledgement_is_needed_and_says_why(refused: Refused, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="AwsSolutions"):
        synthesise(tmp_path, checked=True)

    found = findings(tmp_path)
    for path, rule in refused.reasons:
        assert [it for it in found if it[0].startswith(f"{path}/") and it[1] == rule], f"{rule} on {path} is idle"
    assert len(found) == len(refused.reasons)
    assert all(len(reason) > 30 for reason in refused.reasons.values())


def test_cfn_lint_finds_nothing(stack: Synthesised) -> None:
    # W3005: the CDK writes some dependencies twice, which is idle but harmless.
    command = [
        str(Path(sys.executable).with_name("cfn-lint")),
        "--ignore-checks",
        "W3005",
        "--regions",
        "us-east-1",
        "eu-west-1",
    ]

    done = subprocess.run(
        [*command, "--template", str(stack.folder / "Mailfold.template.json")], capture_output=True, text=True
    )

    assert done.stdout + done.stderr == ""
    assert done.returncode == 0
