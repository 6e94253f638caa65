"""The alarms: each rings at the one topic, leads to a runbook, and watches something that exists."""

import re
from pathlib import Path
from typing import Any

import pytest

from infra.alarm_rules import RUNS
from infra.alarms import RUNBOOKS
from infra.connections import memory_gib
from infra.settings import Settings
from mailfold.source_health import THRESHOLDS
from mailfold.telemetry import METRICS
from tests.infra.template import ROOT, Resource, Synthesised, synthesise
from tests.infra.test_queue import main_queue
from tests.support.blobs import Printed, of
from tests.unit.test_docs import anchor, headings, prose

#: What AWS measures by itself: namespace -> the one dimension, whose it is, and the names that are watched.
MEASURED_BY_AWS = {
    # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
    "AWS/SQS": (
        "QueueName",
        "AWS::SQS::Queue",
        {"ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"},
    ),
    # https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
    "AWS/Lambda": ("FunctionName", "AWS::Lambda::Function", {"Errors", "Throttles", "Duration"}),
    # https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html
    "AWS/ApiGateway": ("ApiId", "AWS::ApiGatewayV2::Api", {"4xx", "5xx"}),
    # https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/rds-metrics.html
    "AWS/RDS": (
        "DBInstanceIdentifier",
        "AWS::RDS::DBInstance",
        {"CPUUtilization", "DatabaseConnections", "FreeStorageSpace", "CPUCreditBalance"},
    ),
}


@pytest.fixture(scope="module")
def ringing(tmp_path_factory: pytest.TempPathFactory) -> Synthesised:
    """The stack with everything that may ring."""
    return synthesise(tmp_path_factory.mktemp("ringing"), Settings(publish=True, alarm_email="ops@example.com"))


def alarms(stack: Synthesised) -> dict[str, Resource]:
    return stack.all("AWS::CloudWatch::Alarm")


def alarm_topic(stack: Synthesised) -> str:
    return str(stack.template["Outputs"]["AlarmTopicArn"]["Value"]["Ref"])


def dimensions(alarm: Resource) -> dict[str, Any]:
    return {it["Name"]: it["Value"] for it in alarm["Dimensions"]}


def own(stack: Synthesised) -> dict[Printed, list[Resource]]:
    """The alarms on what our own code prints, by the metric."""
    found: dict[Printed, list[Resource]] = {}
    for alarm in alarms(stack).values():
        if alarm["Namespace"] == "Mailfold":
            metric = Printed(alarm["MetricName"], frozenset(dimensions(alarm).items()))
            found.setdefault(metric, []).append(alarm)
    return found


def of_aws(stack: Synthesised, namespace: str, name: str) -> set[str]:
    """The resources of which AWS's metric of this name is watched."""
    watched = [it for it in alarms(stack).values() if (it["Namespace"], it["MetricName"]) == (namespace, name)]
    return {target(value) for it in watched for value in dimensions(it).values()}


def target(value: Any) -> str:
    """Return the logical id that a dimension refers to."""
    return str(value["Ref"] if "Ref" in value else value["Fn::GetAtt"][0])


def test_every_alarm_rings_at_the_one_topic_and_says_when_it_is_over(ringing: Synthesised) -> None:
    topic = [{"Ref": alarm_topic(ringing)}]

    assert alarms(ringing)
    for alarm in alarms(ringing).values():
        assert alarm["AlarmActions"] == topic
        assert alarm["OKActions"] == topic
        assert alarm.get("ActionsEnabled", True) is True


def test_the_topic_lets_this_accounts_alarms_in_and_nobody_else(ringing: Synthesised) -> None:
    topic = {"Ref": alarm_topic(ringing)}
    (policy,) = [it for it in ringing.all("AWS::SNS::TopicPolicy").values() if it["Topics"] == [topic]]
    (allowed,) = [it for it in policy["PolicyDocument"]["Statement"] if it["Effect"] == "Allow"]

    assert allowed["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allowed["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}


def test_an_email_is_sent_only_where_one_is_asked_for(stack: Synthesised, ringing: Synthesised) -> None:
    def emails(of: Synthesised) -> list[Resource]:
        return [it for it in of.all("AWS::SNS::Subscription").values() if it["Protocol"] == "email"]

    (email,) = emails(ringing)
    assert (email["Endpoint"], email["TopicArn"]) == ("ops@example.com", {"Ref": alarm_topic(ringing)})
    assert emails(stack) == []


def runbook(alarm: Resource) -> str:
    says, page, anchor = re.split(r" What to do: |#", alarm["AlarmDescription"])
    assert page == RUNBOOKS
    assert says.endswith(".")
    return anchor


def test_every_alarm_leads_to_a_runbook_and_every_runbook_has_an_alarm(ringing: Synthesised) -> None:
    page = prose((ROOT / RUNBOOKS).read_text())
    runbooks = page.partition("\n## When an alarm rings\n")[2].partition("\n## ")[0]
    sections = {anchor(title) for title in re.findall(r"^### (.+)$", runbooks, re.MULTILINE)}

    named = {runbook(alarm) for alarm in alarms(ringing).values()}

    assert named == sections
    assert named <= headings(page)


def test_the_page_lists_every_alarm_and_no_other(ringing: Synthesised) -> None:
    table = (ROOT / RUNBOOKS).read_text().partition("| alarm | rings when |\n")[2].partition("\n\n")[0]
    listed = {name for row in table.splitlines() for name in re.findall(r"`([\w…]+)`", row.split("|")[1])}
    begun = tuple(name.removesuffix("…") for name in listed if name.endswith("…"))

    names = {re.sub(r"^Alarms|[0-9A-F]{8}$", "", name) for name in alarms(ringing)}

    assert {name for name in names if name not in listed and not name.startswith(begun)} == set()
    assert {name for name in listed if not name.endswith("…")} <= names
    assert [start for start in begun if not any(name.startswith(start) for name in names - listed)] == []


def test_what_our_code_is_watched_for_is_what_it_prints(ringing: Synthesised, printed: frozenset[Printed]) -> None:
    assert own(ringing).keys() - printed == set()


def test_every_metric_is_printed_by_somebody(printed: frozenset[Printed]) -> None:
    found = {(dict(metric.dimensions)["service"], metric.name) for metric in printed}

    assert found == {(step, name) for step, names in METRICS.items() for name in names}


def test_what_aws_measures_is_watched_under_the_name_and_dimension_that_aws_gives_it(ringing: Synthesised) -> None:
    for alarm in alarms(ringing).values():
        if alarm["Namespace"] != "Mailfold":
            name, kind, metrics = MEASURED_BY_AWS[alarm["Namespace"]]
            ((given, value),) = dimensions(alarm).items()
            assert given == name
            assert alarm["MetricName"] in metrics
            assert value in ({"Ref": target(value)}, {"Fn::GetAtt": [target(value), name]})
            # What Ref gives is a queue's address, not its name.
            assert ("Ref" in value) == (kind != "AWS::SQS::Queue")
            assert ringing.resources[target(value)]["Type"] == kind


def test_every_queue_is_watched(ringing: Synthesised) -> None:
    main, _ = main_queue(ringing)

    assert of_aws(ringing, "AWS/SQS", "ApproximateAgeOfOldestMessage") == {main}
    others = ringing.all("AWS::SQS::Queue").keys() - {main}
    assert of_aws(ringing, "AWS/SQS", "ApproximateNumberOfMessagesVisible") == others


@pytest.mark.parametrize("name", ["Errors", "Throttles"])
def test_every_function_is_watched(ringing: Synthesised, name: str) -> None:
    assert of_aws(ringing, "AWS/Lambda", name) == {ringing.function(step)[0] for step in METRICS}


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("AWS/ApiGateway", "4xx"),
        ("AWS/ApiGateway", "5xx"),
        ("AWS/RDS", "CPUUtilization"),
        ("AWS/RDS", "DatabaseConnections"),
        ("AWS/RDS", "FreeStorageSpace"),
        ("AWS/RDS", "CPUCreditBalance"),
    ],
)
def test_the_door_and_the_database_are_watched(ringing: Synthesised, namespace: str, name: str) -> None:
    assert len(of_aws(ringing, namespace, name)) == 1


def test_our_own_metrics_are_watched(ringing: Synthesised) -> None:
    settings = Settings()
    wanted = {
        *(of("receive", name) for name in ("RequestsDeferred", "SecretUnavailable", "VerificationFailed")),
        *(of("receive", "VerificationFailed", source) for source in settings.http_sources),
        *(of("process", name) for name in ("EventsDeadLettered", "EventsConflict", "RecordsFailed")),
        *(of("watch", name) for name in ("WatchRuns", "DeadLetters")),
        *(of("watch", name, source) for name in [*THRESHOLDS, "SourceQuiet"] for source in settings.sources),
        *(of("prune", name) for name in ("PruneRuns", "PruneUnfinished")),
        of("sweep", "SweepRuns"),
        of("publish", "OutboxAge"),
        of("query", "QueriesFailed"),
    }

    assert own(ringing).keys() == wanted


def test_publish_is_watched_only_where_it_is_on(stack: Synthesised, ringing: Synthesised) -> None:
    added = alarms(ringing).keys() - alarms(stack).keys()

    assert {re.sub(r"^Alarms|[0-9A-F]{8}$", "", name) for name in added} == {
        "DeadLettersPublish",
        "ErrorsPublish",
        "ThrottlesPublish",
        "OutboxAge",
    }


@pytest.mark.parametrize("name", THRESHOLDS)
def test_a_rate_rings_at_its_line(ringing: Synthesised, name: str) -> None:
    for source in Settings().sources:
        ((alarm,),) = [found for metric, found in own(ringing).items() if metric == of("watch", name, source)]

        assert alarm["Threshold"] == THRESHOLDS[name].percent
        assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"


#: How many minutes may lie between two runs: the schedule's, and what it may be late.
LONGEST_PAUSE = {"prune": 24 * 60 + 15, "sweep": 60 + 15, "watch": 5}


@pytest.mark.parametrize("step", RUNS)
def test_a_step_that_does_not_run_rings_and_one_that_runs_does_not(ringing: Synthesised, step: str) -> None:
    name, minutes, periods = RUNS[step]
    ((alarm,),) = [found for metric, found in own(ringing).items() if metric == of(step, name)]

    assert alarm["TreatMissingData"] == "breaching"
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
    assert (alarm["Period"], alarm["EvaluationPeriods"], alarm["Statistic"]) == (60 * minutes, periods, "Sum")
    # A run may fall on the edge of a period at either end.
    assert minutes * (periods - 1) >= LONGEST_PAUSE[step]


def test_cloudwatch_can_look_back_that_far(ringing: Synthesised) -> None:
    """By https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html, a day or a week."""
    for alarm in alarms(ringing).values():
        assert alarm["Period"] * alarm["EvaluationPeriods"] <= (86_400 if alarm["Period"] < 3_600 else 604_800)


@pytest.mark.parametrize(
    ("database_class", "gib"),
    [("t4g.micro", 1), ("t4g.medium", 4), ("m7g.large", 8), ("m7g.xlarge", 16), ("r7g.16xlarge", 256)],
)
def test_the_line_for_connections_is_below_what_the_database_admits(
    database_class: str, gib: int, tmp_path: Path
) -> None:
    stack = synthesise(tmp_path, Settings(database_class=database_class))
    (line,) = [it["Threshold"] for it in alarms(stack).values() if it["MetricName"] == "DatabaseConnections"]

    assert memory_gib(database_class) == gib
    assert Settings().max_concurrency + len(METRICS) < line < min(gib * 1024**3 / 9_531_392, 5_000)


def test_credits_are_watched_only_of_classes_that_have_them(tmp_path: Path) -> None:
    stack = synthesise(tmp_path, Settings(database_class="m7g.large"))

    assert of_aws(stack, "AWS/RDS", "CPUCreditBalance") == set()
