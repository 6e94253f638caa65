"""prune: called once a night, and no failed run goes unnoticed."""

import json

from infra.settings import Settings
from tests.infra.template import Synthesised


def test_the_schedule_is_daily_flexible_and_retried(stack: Synthesised) -> None:
    function, _ = stack.function("prune")
    _, schedule = stack.only("AWS::Scheduler::Schedule")

    assert schedule["ScheduleExpression"] == "cron(17 3 * * ? *)"
    assert schedule["ScheduleExpressionTimezone"] == "Etc/UTC"
    assert schedule["FlexibleTimeWindow"] == {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    assert schedule["State"] == "ENABLED"
    assert schedule["Target"]["Arn"] == {"Fn::GetAtt": [function, "Arn"]}
    assert schedule["Target"]["RetryPolicy"]["MaximumRetryAttempts"] == 3


def test_undelivered_and_failed_runs_end_in_a_queue_of_their_own(stack: Synthesised) -> None:
    function, _ = stack.function("prune")
    _, schedule = stack.only("AWS::Scheduler::Schedule")
    _, invoked = stack.only("AWS::Lambda::EventInvokeConfig")
    dead = schedule["Target"]["DeadLetterConfig"]["Arn"]

    assert invoked["FunctionName"] == {"Ref": function}
    assert invoked["DestinationConfig"] == {"OnFailure": {"Destination": dead}}
    assert invoked["MaximumRetryAttempts"] == 2


def test_the_scheduler_may_do_nothing_else(stack: Synthesised) -> None:
    function, _ = stack.function("prune")
    _, schedule = stack.only("AWS::Scheduler::Schedule")
    role = schedule["Target"]["RoleArn"]["Fn::GetAtt"][0]

    allowed = {json.dumps(it["Resource"]): it["Action"] for it in stack.statements(role)}

    assert allowed.pop(json.dumps({"Fn::GetAtt": [function, "Arn"]})) == "lambda:InvokeFunction"
    ((resource, actions),) = allowed.items()
    assert json.loads(resource) == schedule["Target"]["DeadLetterConfig"]["Arn"]
    assert "sqs:SendMessage" in actions
    (trust,) = stack.resources[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert trust["Condition"]["StringEquals"]["aws:SourceAccount"] == {"Ref": "AWS::AccountId"}


def test_the_function_is_told_the_windows(stack: Synthesised) -> None:
    environment = stack.environment("prune")

    assert json.loads(environment["RETENTION"]) == Settings().retention
    assert environment.keys() - stack.environment("migrate").keys() == {"RETENTION"}
