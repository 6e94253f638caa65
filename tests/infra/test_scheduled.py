"""The steps that the clock calls: when, and that no failed run goes unnoticed."""

import json
from typing import Any

import pytest

from infra.settings import Settings
from tests.infra.template import Synthesised

WHEN = {"prune": "cron(17 3 * * ? *)", "sweep": "cron(41 * * * ? *)"}

every = pytest.mark.parametrize("step", WHEN)


def schedule_of(stack: Synthesised, step: str) -> dict[str, Any]:
    """Find the schedule that calls a step."""
    function, _ = stack.function(step)
    (schedule,) = (
        resource["Properties"]
        for resource in stack.resources.values()
        if resource["Type"] == "AWS::Scheduler::Schedule"
        and resource["Properties"]["Target"]["Arn"] == {"Fn::GetAtt": [function, "Arn"]}
    )
    return schedule


@every
def test_the_schedule_is_regular_flexible_and_retried(stack: Synthesised, step: str) -> None:
    schedule = schedule_of(stack, step)

    assert schedule["ScheduleExpression"] == WHEN[step]
    assert schedule["ScheduleExpressionTimezone"] == "Etc/UTC"
    assert schedule["FlexibleTimeWindow"] == {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    assert schedule["State"] == "ENABLED"
    assert schedule["Target"]["RetryPolicy"]["MaximumRetryAttempts"] == 3


@every
def test_undelivered_and_failed_runs_end_in_a_queue_of_their_own(stack: Synthesised, step: str) -> None:
    function, _ = stack.function(step)
    (invoked,) = (
        resource["Properties"]
        for resource in stack.resources.values()
        if resource["Type"] == "AWS::Lambda::EventInvokeConfig"
        and resource["Properties"]["FunctionName"] == {"Ref": function}
    )
    dead = schedule_of(stack, step)["Target"]["DeadLetterConfig"]["Arn"]

    assert invoked["DestinationConfig"] == {"OnFailure": {"Destination": dead}}
    assert invoked["MaximumRetryAttempts"] == 2


@every
def test_the_scheduler_may_do_nothing_else(stack: Synthesised, step: str) -> None:
    function, _ = stack.function(step)
    schedule = schedule_of(stack, step)
    role = schedule["Target"]["RoleArn"]["Fn::GetAtt"][0]

    allowed = {json.dumps(it["Resource"]): it["Action"] for it in stack.statements(role)}

    assert allowed.pop(json.dumps({"Fn::GetAtt": [function, "Arn"]})) == "lambda:InvokeFunction"
    ((resource, actions),) = allowed.items()
    assert json.loads(resource) == schedule["Target"]["DeadLetterConfig"]["Arn"]
    assert "sqs:SendMessage" in actions
    (trust,) = stack.resources[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert trust["Condition"]["StringEquals"]["aws:SourceAccount"] == {"Ref": "AWS::AccountId"}


def test_watch_is_called_every_five_minutes_and_the_next_call_is_the_second_try(stack: Synthesised) -> None:
    schedule = schedule_of(stack, "watch")
    function, _ = stack.function("watch")
    (invoked,) = [
        it for it in stack.all("AWS::Lambda::EventInvokeConfig").values() if it["FunctionName"] == {"Ref": function}
    ]

    assert schedule["ScheduleExpression"] == "rate(5 minutes)"
    assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert schedule["State"] == "ENABLED"
    assert schedule["Target"]["RetryPolicy"]["MaximumRetryAttempts"] == invoked["MaximumRetryAttempts"] == 0
    assert invoked["DestinationConfig"]["OnFailure"]["Destination"] == schedule["Target"]["DeadLetterConfig"]["Arn"]


def test_watch_is_told_the_sources(stack: Synthesised) -> None:
    environment = stack.environment("watch")

    assert json.loads(environment["SOURCES"]) == Settings().sources
    assert environment.keys() - stack.environment("migrate").keys() == {"SOURCES"}


def test_the_function_is_told_the_windows(stack: Synthesised) -> None:
    environment = stack.environment("prune")

    assert json.loads(environment["RETENTION"]) == Settings().retention
    assert environment.keys() - stack.environment("migrate").keys() == {"RETENTION"}


def test_sweep_is_told_the_limit(stack: Synthesised) -> None:
    assert stack.environment("sweep")["SOFT_LIMIT"] == str(Settings().soft_bounce_limit)
