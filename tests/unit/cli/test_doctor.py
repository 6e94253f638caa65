"""doctor without a stack: what it says when it may not look, and what no local stack can be made to have."""

import argparse
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cli.checks import door, probe
from cli.checks.clock import check_clock
from cli.checks.examination import Check, Examination, Finding, Note, Said, Skipped
from cli.checks.feedback import WANTED_TYPES, check_topic
from cli.checks.queues import check_mapping, check_queue
from cli.checks.secrets import check_secrets
from cli.checks.store import check_database, check_roles, check_schema, check_work
from cli.doctor import CHECKS, examine
from cli.errors import DECLINED, CommandError
from cli.place import Place
from mailfold.probe import MARKER, PROBE_ADDRESS
from mailfold.request import Source
from samples import sampler

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
OUTPUTS = {
    "SecretArn": "secret",
    "QueueUrl": "https://sqs/queue",
    "DeadLetterQueueUrl": "https://sqs/letters",
    "MigrateFunctionName": "migrate",
    "WebhookUrlMain": "http://127.0.0.1:9/webhooks/main",
}
WELL = {
    "now": NOW.isoformat(),
    "migrations": {"missing": [], "edited": [], "unknown": []},
    "invalid_indexes": [],
    "roles": [],
    "connection_limits": {"mailfold_process": 15, "mailfold_query": 20},
    "connections": 5,
    "most_connections": 80,
    "dead_letters": 0,
    "outbox_waiting": 0,
    "outbox_seconds": None,
    "oldest_event_days": 30,
    "retention_days": 30,
    "publish": True,
    "sources": {"main": NOW.isoformat()},
}


class FakeAws:
    """Answers each operation as told; an exception is raised, and what is not told is denied."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**parameters: Any) -> Any:
            answer = self._answers.get(operation, error("AccessDeniedException"))
            if isinstance(answer, Exception):
                raise answer
            return answer(**parameters) if callable(answer) else answer

        return call


class FakePlace(Place):
    """A place whose operate function answers as told."""

    orders: dict[str, Any]

    def order(self, command: str, **arguments: Any) -> dict[str, Any]:
        answer = self.orders[command]
        if isinstance(answer, Exception):
            raise answer
        result: dict[str, Any] = answer(**arguments) if callable(answer) else answer
        return result


def error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Operation")


def examination(orders: dict[str, Any] | None = None, **answers: Any) -> Examination:
    place = FakePlace(client=lambda service: FakeAws(answers), outputs=OUTPUTS, by="test")
    object.__setattr__(place, "orders", {"doctor.store": WELL, "sources": {}, **(orders or {})})
    return Examination(place)


def findings(said: Iterator[Said]) -> list[str]:
    return [each.what for each in said if isinstance(each, Finding)]


def test_whoever_may_see_nothing_is_told_so_and_nothing_is_called_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    denied = CommandError("operate could not be called")
    denied.__cause__ = error("AccessDeniedException")
    exam = examination({"doctor.store": denied, "sources": denied})

    code = examine(argparse.Namespace(json=True, only=None, no_probe=False), exam.place)

    told = json.loads(capsys.readouterr().out)
    assert (code, told["clean"], told["not_checked"]) == (0, True, len(CHECKS))
    assert all(len(each["not_checked"]) == 1 for each in told["checks"])
    assert "secretsmanager get-secret-value answered AccessDeniedException" in told["checks"][0]["not_checked"]


def test_a_person_reads_each_check_as_it_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(exam: Examination) -> Iterator[Said]:
        yield Finding(what="it is \x1b[2Jbroken", fix="fix it")
        yield Skipped(why="no time")
        yield Note(text="a note")

    monkeypatch.setattr("cli.doctor.CHECKS", (Check(name="one", looks_at="", run=run),))

    assert examine(argparse.Namespace(json=False, only=None, no_probe=False), examination().place) == 1

    assert capsys.readouterr().out.splitlines() == [
        "one        WRONG  it is  [2Jbroken",
        "                  fix: fix it",
        "           -      not checked: no time",
        "           ok     a note",
        "",
        "1 finding; not checked: 1",
    ]


def clocks(*, here: timedelta, store: timedelta) -> list[str]:
    stamp = NOW.strftime("%a, %d %b %Y %H:%M:%S GMT")
    exam = examination(
        {"doctor.store": {**WELL, "now": (NOW + store).isoformat()}},
        describe_stacks={"ResponseMetadata": {"HTTPHeaders": {"date": stamp}}},
    )
    return findings(check_clock(exam, now=lambda: NOW + here))


@pytest.mark.parametrize(
    ("here", "store", "told"),
    [
        (0, 0, []),
        (59, -59, []),
        (61, 0, ["the clock of this machine is 61 s ahead of AWS's"]),
        (-400, 0, ["the clock of this machine is 400 s behind AWS's"]),
        (0, 90, ["the clock of the database is 90 s ahead of AWS's"]),
        (
            -120,
            -90,
            ["the clock of this machine is 120 s behind AWS's", "the clock of the database is 90 s behind AWS's"],
        ),
    ],
)
def test_a_clock_that_is_off_is_found(here: int, store: int, told: list[str]) -> None:
    assert clocks(here=timedelta(seconds=here), store=timedelta(seconds=store)) == told


def test_a_database_that_is_away_is_one_finding() -> None:
    away = CommandError("Postgres does not answer", DECLINED)
    exam = examination({"doctor.store": away})

    assert findings(check_database(exam)) == ["the database cannot be asked: Postgres does not answer"]


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({}, []),
        ({"connections": 70}, ["70 of 80 connections are taken"]),
        ({"oldest_event_days": 33}, ["prune does not keep up: an event is 33 days old, and the window is 30"]),
        ({"outbox_seconds": 301}, ["publish does not keep up: a change has waited for 301 s"]),
        ({"outbox_seconds": 301, "publish": False}, []),
        ({"invalid_indexes": ["outbox_unpublished"]}, ["the index outbox_unpublished is not valid"]),
        (
            {"migrations": {"missing": [], "edited": ["0001_a.sql"], "unknown": ["9"]}},
            [
                "the migration 0001_a.sql was changed after it was applied",
                "the database is at migration 9, which the code does not know",
            ],
        ),
        (
            {
                "roles": [
                    {"problem": "role", "role": "mailfold_watch"},
                    {"problem": "login", "role": "mailfold_redrive"},
                    {"problem": "member", "role": "mailfold_query", "taken": "mailfold_redrive"},
                    {"problem": "excess member", "role": "mailfold_query", "taken": "mailfold_operate"},
                ]
            },
            [
                "the role mailfold_watch is not there or may not log in",
                "mailfold_redrive may log in, which no function does",
                "mailfold_query may not take the role mailfold_redrive",
                "mailfold_query may take the role mailfold_operate, which its step does not need",
            ],
        ),
    ],
)
def test_what_the_database_tells_is_judged(facts: dict[str, Any], told: list[str]) -> None:
    exam = examination({"doctor.store": {**WELL, **facts}})

    assert [what for check in (check_schema, check_roles, check_work) for what in findings(check(exam))] == told


def test_a_role_with_another_connection_limit_than_the_template_says_is_told() -> None:
    variables = {"POWERTOOLS_SERVICE_NAME": "migrate"}
    variables["CONNECTION_LIMITS"] = '{"mailfold_process": 15, "mailfold_query": 20, "mailfold_sweep": 3}'
    migrate = {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": variables}}}
    listed = {"LogicalResourceId": "Migrate", "PhysicalResourceId": "migrate", "ResourceType": migrate["Type"]}
    exam = examination(
        {
            "doctor.store": {
                **WELL,
                "connection_limits": {"mailfold_process": 9, "mailfold_query": 20, "mailfold_sweep": -1},
            }
        },
        get_template={"TemplateBody": {"Resources": {"Migrate": migrate}}},
        list_stack_resources={"StackResourceSummaries": [listed]},
    )

    assert findings(check_roles(exam)) == [
        "mailfold_process may have 9 connections, not 15",
        "mailfold_sweep may have any number of connections, not 3",
    ]


def secret(value: str, days: int = 0) -> dict[str, Any]:
    return {"SecretString": value, "VersionId": "v", "CreatedDate": datetime.now(UTC) - timedelta(days=days)}


@pytest.mark.parametrize(
    ("held", "days", "told"),
    [
        ('{"main": ["k8Jq2w9Zr5Tn7Xv1"]}', 400, []),
        ("{}", 0, ["main has no secret"]),
        ("nonsense", 0, ["the secret is not a JSON object"]),
        ('{"main": []}', 0, ["the secret of main is not a list of texts"]),
        ('{"main": ["changeme"]}', 0, ["a secret of main is a placeholder"]),
        (
            '{"main": ["s", "the-api-key"]}',
            0,
            ["a secret of main is a placeholder", "a secret of main is shorter than 16 bytes"],
        ),
        ('{"main": ["k8Jq2w9Zr5Tn7Xv1", "k8Jq2w9Zr5Tn7Xv1"]}', 0, ["main has the same secret twice"]),
        ('{"main": ["k8Jq2w9Zr5Tn7Xv1", "b3Wd6y8Lm4Hc0Gs2"]}', 1, []),
        (
            '{"main": ["k8Jq2w9Zr5Tn7Xv1", "b3Wd6y8Lm4Hc0Gs2"]}',
            9,
            ["the rotation of main was never finished: two secrets for 9 days"],
        ),
    ],
)
def test_secrets_are_judged(held: str, days: int, told: list[str]) -> None:
    exam = examination(get_secret_value=secret(held, days))
    exam.__dict__["sources"] = {"main": {"provider": "sesmetric"}, "ses": {"provider": "ses"}}

    assert findings(check_secrets(exam)) == told


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ("{}", "main has no secret"),
        ('{"other": ["k8Jq2w9Zr5Tn7Xv1"]}', "main has no secret"),
        ('{"main": "k8Jq2w9Zr5Tn7Xv1"}', "the secret of main is not a list of texts"),
        ('{"main": ["the-signing-secret"]}', "a secret of main is a placeholder"),
    ],
)
def test_what_an_overwrite_has_dropped_is_told_with_the_way_back(now: str, told: str) -> None:
    kept = secret('{"main": ["b3Wd6y8Lm4Hc0Gs2"]}')
    exam = examination(
        get_secret_value=lambda VersionStage, **_: secret(now) if VersionStage == "AWSCURRENT" else kept  # noqa: N803
    )
    exam.__dict__["sources"] = {"main": {"provider": "sesmetric"}, "other": {"provider": "sesmetric"}}

    said = [each for each in check_secrets(exam) if isinstance(each, Finding) and "main" in each.what]

    assert [(each.what, each.fix) for each in said] == [
        (f"{told}; the version before this one (AWSPREVIOUS) has one", "bin/mailfold secrets restore")
    ]


def test_without_a_version_before_the_secret_is_to_be_set() -> None:
    def answer(*, VersionStage: str, **_: Any) -> dict[str, Any]:  # noqa: N803
        if VersionStage == "AWSPREVIOUS":
            raise error("ResourceNotFoundException")
        return secret("{}")

    exam = examination(get_secret_value=answer)
    exam.__dict__["sources"] = {"main": {"provider": "sesmetric"}}

    said = [each for each in check_secrets(exam) if isinstance(each, Finding)]

    assert [(each.what, each.fix) for each in said] == [("main has no secret", "bin/mailfold secrets set main")]


def test_several_topics_are_no_unfinished_rotation() -> None:
    topics = [f"arn:aws:sns:eu-west-1:210987654321:events-{number}" for number in range(3)]
    exam = examination(get_secret_value=secret(json.dumps({"main": topics}), days=9))
    exam.__dict__["sources"] = {"main": {"provider": "ses", "http": True}}

    assert findings(check_secrets(exam)) == []


def test_a_secret_that_was_deleted_is_found() -> None:
    assert findings(check_secrets(examination(get_secret_value=error("ResourceNotFoundException")))) == [
        "the secret is not there"
    ]


def test_a_stack_without_a_topic_has_none_to_check() -> None:
    with pytest.raises(Exception, match="no source comes through a topic"):
        list(check_topic(examination()))


def test_the_types_are_written_as_ses_writes_them() -> None:
    assert {"DELIVERY_DELAY", "RENDERING_FAILURE", "SEND", "SUBSCRIPTION"} <= WANTED_TYPES


def on_aws(**queue: str) -> Examination:
    """A stack whose queue is as the template says but for this."""
    attributes = {
        "QueueArn": "arn:queue",
        "RedrivePolicy": '{"deadLetterTargetArn": "arn:queue", "maxReceiveCount": 40}',
        "MessageRetentionPeriod": "1209600",
        "VisibilityTimeout": "91",
        **queue,
    }
    wanted = {"RedrivePolicy": {"maxReceiveCount": 40}, "MessageRetentionPeriod": 1209600, "VisibilityTimeout": 30}
    variables = {"Variables": {"POWERTOOLS_SERVICE_NAME": "process"}}
    resources = {"Queue": {"Properties": wanted}, "Process": {"Properties": {"Environment": variables}}}
    kinds = {"Queue": "AWS::SQS::Queue", "Process": "AWS::Lambda::Function", "Map": "AWS::Lambda::EventSourceMapping"}
    names = {"Queue": "https://sqs/queue", "Process": "process", "Map": "uuid"}
    pages = {
        None: {"StackResourceSummaries": [_summary("Queue", kinds, names)], "NextToken": "more"},
        "more": {"StackResourceSummaries": [_summary(each, kinds, names) for each in ("Process", "Map")]},
    }
    return examination(
        get_template={"TemplateBody": json.dumps({"Resources": resources})},
        list_stack_resources=lambda StackName, NextToken=None: pages[NextToken],  # noqa: N803
        get_queue_attributes={"Attributes": attributes},
        get_function_configuration={"Timeout": 60, "FunctionName": "process", "FunctionArn": "arn:process"},
        get_event_source_mapping=error("ResourceNotFoundException"),
    )


def _summary(logical: str, kinds: dict[str, str], names: dict[str, str]) -> dict[str, str]:
    return {"LogicalResourceId": logical, "ResourceType": kinds[logical], "PhysicalResourceId": names[logical]}


@pytest.mark.parametrize(
    ("queue", "told"),
    [
        ({}, []),
        ({"MessageRetentionPeriod": "345600"}, ["the queue keeps a record for 345600 s, not for 1209600"]),
        # The template may be wrong as well: a run of process is a rule of AWS.
        ({"VisibilityTimeout": "59"}, ["a record is hidden for 59 s, but its reader needs 60"]),
        (
            {"RedrivePolicy": '{"deadLetterTargetArn": "arn:other", "maxReceiveCount": 40}'},
            ["the dead-letter queue of the queue is another one"],
        ),
    ],
)
def test_a_queue_on_aws_is_held_against_template_and_rule(queue: dict[str, str], told: list[str]) -> None:
    assert findings(check_queue(on_aws(**queue))) == told


def test_a_mapping_that_is_gone_is_found() -> None:
    assert findings(check_mapping(on_aws())) == ["nothing reads the queue: its mapping to process is not there"]


def probed(source: dict[str, Any], held: str, **orders: Any) -> Examination:
    exam = examination(
        {"doctor.probe.find": {"probes": []}, "doctor.probe.remove": {}, **orders},
        get_secret_value=secret(json.dumps({"main": [held]})),
    )
    exam.__dict__["sources"] = {"main": source}
    return exam


@pytest.mark.parametrize("provider", ["sendgrid", "postal"])
def test_away_from_the_local_stack_nobody_can_sign_for_a_public_key(provider: str) -> None:
    exam = probed({"provider": provider}, sampler(provider).make_keys().secret)

    said = list(probe.check_probe(exam))

    assert [each.why for each in said if isinstance(each, Skipped)] == ["main: only the provider can sign"]
    assert findings(iter(said)) == []


@pytest.mark.parametrize("credential", ["basic:me:long-password", "bearer:long-token", "header:X-Key: long-value"])
@pytest.mark.parametrize("provider", ["postmark", "sendgrid", "brevo"])
def test_every_kind_of_credential_can_be_sent(provider: str, credential: str) -> None:
    exam = probed({"provider": provider}, credential)
    marker = "doctor-" + "7" * 32

    made = probe.make_probe(exam, Source(name="main", provider=provider), marker)

    assert MARKER.fullmatch(marker)
    assert PROBE_ADDRESS.encode() in made.body
    assert marker.encode() in made.body


def test_settings_that_a_probe_cannot_follow_are_no_finding() -> None:
    settings = {"provider": "generic", "signature_header": "X-Other", "recipient": "/elsewhere", "type": "/kind"}

    [said] = [each for each in probe.check_probe(probed(settings, "k8Jq2w9Zr5Tn7Xv1")) if isinstance(each, Skipped)]

    assert said.why == "main: its settings are none that a probe can follow"


def test_a_probe_that_is_refused_or_lost_is_found_and_always_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[Any] = []
    exam = probed(
        {"provider": "sesmetric"},
        "k8Jq2w9Zr5Tn7Xv1",
        **{"doctor.probe.remove": lambda markers: removed.append(markers)},
    )
    monkeypatch.setattr(probe, "WAIT_SECONDS", 0)
    answers = iter([401, 200])
    monkeypatch.setattr(probe, "call", lambda *_: next(answers))

    refused, lost = findings(probe.check_probe(exam)), findings(probe.check_probe(exam))

    assert refused == ["the signed probe of main is answered 401"]
    assert lost == ["accepted, but no row after 0 s: the probe of main"]
    assert [len(markers) for markers in removed] == [1]


@pytest.mark.parametrize("settings", [{}, {"http": True}])
def test_a_source_that_the_topic_feeds_is_probed_there(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    exam = probed({"provider": "ses", **settings}, "arn:aws:sns:eu-west-1:111122223333:topic")
    monkeypatch.setitem(OUTPUTS, "TopicArn", "arn:topic")
    monkeypatch.setattr(probe, "WAIT_SECONDS", 0)
    published: list[str] = []
    monkeypatch.setattr(exam, "ask", lambda *_, Message, **__: published.append(Message) or {})  # noqa: N803

    assert findings(probe.check_probe(exam)) == ["accepted, but no row after 0 s: the probe of main"]

    [message] = published
    assert json.loads(message)["eventType"] == "Delivery"
    monkeypatch.setattr(exam, "ask", lambda *_, **__: None)
    said = list(probe.check_probe(exam))
    assert [each.why for each in said if isinstance(each, Skipped)] == ["main: the topic is not there"]


@pytest.mark.parametrize(
    ("statuses", "told"),
    [
        ([405, 404, 401], []),
        ([405, 404, 200], ["an unsigned request to main is answered 200, not 401"]),
        ([500, 404, 401], ["a GET to main is answered 500, not 405"]),
    ],
)
def test_a_door_that_answers_wrongly_is_found(
    monkeypatch: pytest.MonkeyPatch, statuses: list[int], told: list[str]
) -> None:
    answers = iter(statuses)
    monkeypatch.setattr(door, "call", lambda *_: next(answers))

    assert findings(door.check_door(probed({"provider": "sesmetric"}, "0123456789"))) == told


def test_a_door_that_nobody_answers_is_found() -> None:
    [what] = findings(door.check_door(probed({"provider": "sesmetric"}, "0123456789")))

    assert what.startswith("the door cannot be reached: 127.0.0.1 does not answer")
