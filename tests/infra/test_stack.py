"""What holds for the whole stack: its outputs, and what all functions share."""

from pathlib import Path

import pytest

from infra.layers import PYTHON_VERSION
from infra.settings import Settings
from tests.infra.template import STEPS, Synthesised, rendered, synthesise


def test_the_outputs_say_what_an_operator_needs(stack: Synthesised) -> None:
    outputs = stack.template["Outputs"]

    assert set(outputs) == {
        "WebhookUrlSendgrid",
        "WebhookUrlSesmetric",
        "TopicArn",
        "QueueUrl",
        "DeadLetterQueueUrl",
        "SecretArn",
        "ConfigurationSetName",
        "DatabaseEndpoint",
        "PruneFunctionName",
        "SweepFunctionName",
        "MigrateFunctionName",
        "QueryUrl",
        "ConsoleUrl",
    }
    assert rendered(outputs["WebhookUrlSendgrid"]["Value"]) == "stand-in/webhooks/sendgrid"
    assert not any("Export" in output for output in outputs.values())


def test_each_http_source_has_a_webhook_url(tmp_path: Path) -> None:
    sources = {"sendgrid-eu": {"provider": "sendgrid"}, "sendgrid-us": {"provider": "sendgrid"}}

    outputs = synthesise(tmp_path, Settings(sources=sources)).template["Outputs"]

    urls = {name: rendered(it["Value"]) for name, it in outputs.items() if name.startswith("WebhookUrl")}
    assert urls == {
        "WebhookUrlSendgridEu": "stand-in/webhooks/sendgrid-eu",
        "WebhookUrlSendgridUs": "stand-in/webhooks/sendgrid-us",
    }


@pytest.mark.parametrize("step", STEPS)
def test_every_function_runs_the_same_way(step: str, stack: Synthesised) -> None:
    _, function = stack.function(step)
    layers = {stack.resources[it["Ref"]]["Properties"]["Description"] for it in function["Layers"]}

    assert function["Runtime"] == f"python{PYTHON_VERSION}"
    assert function["Architectures"] == ["arm64"]
    assert function["Handler"] == "handler.handler"
    assert len(layers) == 2
    assert "TracingConfig" not in function


@pytest.mark.parametrize("step", STEPS)
def test_tracing_and_log_level_are_switches(step: str, tmp_path: Path) -> None:
    stack = synthesise(tmp_path, Settings(tracing=True, log_level="DEBUG"))

    assert stack.function(step)[1]["TracingConfig"] == {"Mode": "Active"}
    assert stack.environment(step)["POWERTOOLS_LOG_LEVEL"] == "DEBUG"


def test_every_function_logs_into_a_group_of_its_own(stack: Synthesised) -> None:
    functions = stack.all("AWS::Lambda::Function").values()

    groups = [function["LoggingConfig"]["LogGroup"]["Ref"] for function in functions]

    assert len(set(groups)) == len(groups) == 6


def test_every_log_ends_when_the_settings_say(stack: Synthesised, tmp_path: Path) -> None:
    other = synthesise(tmp_path, Settings(log_retention_days=3))

    assert {it["RetentionInDays"] for it in stack.all("AWS::Logs::LogGroup").values()} == {30}
    assert {it["RetentionInDays"] for it in other.all("AWS::Logs::LogGroup").values()} == {3}


def test_what_is_state_keeps_its_logical_id(stack: Synthesised) -> None:
    """A new logical id makes CloudFormation replace the resource, and what is in it is gone."""
    stateful = {
        "AWS::RDS::DBInstance": "DatabaseInstanceAA8A5FDE",
        "AWS::SecretsManager::Secret": "SecretA29EB826",
        "AWS::DynamoDB::Table": "ClaimsTable4F5EEEF2",
    }

    assert {kind: stack.only(kind)[0] for kind in stateful} == stateful
    assert {"Queue381943A6", "QueueDeadLetters9B423CAD"} <= stack.all("AWS::SQS::Queue").keys()
