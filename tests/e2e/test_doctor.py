"""doctor on the running stack: clean as deployed, and each planted misconfiguration is found and can be mended."""

import argparse
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pg8000.native
import pytest

from cli.doctor import CHECKS, examine
from cli.place import Place, local_place
from local.options import ROOT
from local.state import Stack
from tests.e2e.support import LocalRun, await_that

Planted = Callable[["Patient"], contextlib.AbstractContextManager[None]]

#: What differs from stack to stack: addresses, ARNs and generated names.
NAMES = re.compile(
    r"https?://[^\s'\"]+|arn:[^\s'\"\\,}]+|Mailfold-[\w-]+|\w*ConfigurationSet\w*-[\w-]+|[0-9a-f]{8}-[0-9a-f-]{27}"
)


@dataclass(frozen=True, kw_only=True)
class Patient:
    """The running stack, and both ways into it."""

    place: Place
    database: pg8000.native.Connection

    def out(self, name: str) -> str:
        return self.place.output(name)

    def resource(self, start: str, kind: str) -> str:
        """Return what the resource of the template is called here."""
        listed = self.place.aws("cloudformation").describe_stack_resources(StackName="Mailfold")["StackResources"]
        [name] = [
            each["PhysicalResourceId"]
            for each in listed
            if each["ResourceType"] == kind and each["LogicalResourceId"].startswith(start)
        ]
        return str(name)


@dataclass(frozen=True, kw_only=True)
class Plant:
    """One misconfiguration; `planted` undoes it at the end."""

    name: str
    says: str
    mend: str
    planted: Planted


def secrets(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Planted:
    @contextlib.contextmanager
    def planted(patient: Patient) -> Iterator[None]:
        manager, secret = patient.place.aws("secretsmanager"), patient.out("SecretArn")
        before = manager.get_secret_value(SecretId=secret)["SecretString"]
        manager.put_secret_value(SecretId=secret, SecretString=json.dumps(change(json.loads(before))))
        yield
        manager.put_secret_value(SecretId=secret, SecretString=before)

    return planted


def queue(name: str, value: Callable[[str, Patient], str]) -> Planted:
    @contextlib.contextmanager
    def planted(patient: Patient) -> Iterator[None]:
        sqs, url = patient.place.aws("sqs"), patient.out("QueueUrl")
        before = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"][name]
        sqs.set_queue_attributes(QueueUrl=url, Attributes={name: value(before, patient)})
        yield
        sqs.set_queue_attributes(QueueUrl=url, Attributes={name: before})

    return planted


def subscription(name: str, value: str) -> Planted:
    @contextlib.contextmanager
    def planted(patient: Patient) -> Iterator[None]:
        sns = patient.place.aws("sns")
        [found] = sns.list_subscriptions_by_topic(TopicArn=patient.out("TopicArn"))["Subscriptions"]
        arn = found["SubscriptionArn"]
        before = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"].get(name, "")
        sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName=name, AttributeValue=value)
        yield
        sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName=name, AttributeValue=before)

    return planted


@contextlib.contextmanager
def unsubscribed(patient: Patient) -> Iterator[None]:
    sns, topic = patient.place.aws("sns"), patient.out("TopicArn")
    [found] = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    attributes = sns.get_subscription_attributes(SubscriptionArn=found["SubscriptionArn"])["Attributes"]
    sns.unsubscribe(SubscriptionArn=found["SubscriptionArn"])
    yield
    kept = {name: attributes[name] for name in ("RawMessageDelivery", "RedrivePolicy")}
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=found["Endpoint"], Attributes=kept)


def destination(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Planted:
    @contextlib.contextmanager
    def planted(patient: Patient) -> Iterator[None]:
        ses, name = patient.place.aws("sesv2"), patient.out("ConfigurationSetName")
        [before] = ses.get_configuration_set_event_destinations(ConfigurationSetName=name)["EventDestinations"]
        called = before.pop("Name")

        def put(settings: dict[str, Any]) -> None:
            ses.update_configuration_set_event_destination(
                ConfigurationSetName=name, EventDestinationName=called, EventDestination=settings
            )

        put({**before, **change(before)})
        yield
        put(before)

    return planted


@contextlib.contextmanager
def unmapped(patient: Patient) -> Iterator[None]:
    functions, uuid = patient.place.aws("lambda"), patient.resource("Process", "AWS::Lambda::EventSourceMapping")

    def state() -> str:
        return str(functions.get_event_source_mapping(UUID=uuid)["State"])

    functions.update_event_source_mapping(UUID=uuid, Enabled=False)
    await_that(lambda: state() == "Disabled")
    yield
    functions.update_event_source_mapping(UUID=uuid, Enabled=True)
    await_that(lambda: state() == "Enabled")


@contextlib.contextmanager
def told_otherwise(patient: Patient) -> Iterator[None]:
    functions, name = patient.place.aws("lambda"), patient.out("WatchFunctionName")
    before = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    fewer = json.dumps({"sendgrid": {"provider": "sendgrid"}})
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": {**before, "SOURCES": fewer}})
    yield
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": before})


@contextlib.contextmanager
def left_over(patient: Patient) -> Iterator[None]:
    sqs, url = patient.place.aws("sqs"), patient.resource("PruneDeadLetters", "AWS::SQS::Queue")
    sqs.send_message(QueueUrl=url, MessageBody="{}")
    yield
    sqs.purge_queue(QueueUrl=url)


@contextlib.contextmanager
def unscheduled(patient: Patient) -> Iterator[None]:
    scheduler, name = patient.place.aws("scheduler"), patient.resource("Prune", "AWS::Scheduler::Schedule")
    found = scheduler.get_schedule(Name=name)
    settings = {each: found[each] for each in ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")}
    scheduler.update_schedule(**settings, State="DISABLED")
    yield
    scheduler.update_schedule(**settings, State="ENABLED")


def sql(change: str, undo: str) -> Planted:
    @contextlib.contextmanager
    def planted(patient: Patient) -> Iterator[None]:
        patient.database.run(change)
        yield
        patient.database.run(undo)

    return planted


def admitting_everybody(policy: str, patient: Patient) -> str:
    open_door = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}
    parsed = json.loads(policy)
    return json.dumps({**parsed, "Statement": [*parsed["Statement"], open_door]})


EVERY_TYPE = "BOUNCE,CLICK,COMPLAINT,DELIVERY,DELIVERY_DELAY,OPEN,REJECT,RENDERING_FAILURE,SEND,SUBSCRIPTION"
PUBLISH_ALL = (
    "aws sesv2 update-configuration-set-event-destination --configuration-set-name … --event-destination-name … "
    f"--event-destination 'Enabled=true,SnsDestination={{TopicArn=…}},MatchingEventTypes=[{EVERY_TYPE}]'"
)
SUBSCRIPTION = "aws sns set-subscription-attributes --subscription-arn … --attribute-name"
QUEUE = "aws sqs set-queue-attributes --queue-url … --attributes"
REDRIVE = r"""'{"RedrivePolicy": "{\"deadLetterTargetArn\": \"…\", \"maxReceiveCount\": 40}"}'"""
MIGRATE = "aws lambda invoke --function-name … /dev/stdout"

PLANTS = (
    Plant(
        name="a source without a secret",
        says="sesmetric has no secret",
        mend="bin/mailfold secrets set sesmetric",
        planted=secrets(lambda held: {name: held[name] for name in held if name != "sesmetric"}),
    ),
    Plant(
        name="a secret that is no list",
        says="the secret of mailgun is not a list of texts",
        mend="bin/mailfold secrets set mailgun",
        planted=secrets(lambda held: {**held, "mailgun": held["mailgun"][0]}),
    ),
    Plant(
        name="a secret of another provider",
        says="a secret of sendgrid is no public key of SendGrid's signed event webhook, nor a credential",
        mend="take the right one from the provider: bin/mailfold secrets set sendgrid",
        planted=secrets(lambda held: {**held, "sendgrid": held["mailgun"]}),
    ),
    Plant(
        name="three secrets at once",
        says="mailtrap has 3 secrets, and each of them opens the door",
        mend="bin/mailfold secrets rotate mailtrap --finish",
        planted=secrets(lambda held: {**held, "mailtrap": [*held["mailtrap"], "older-secret", "oldest-secret"]}),
    ),
    Plant(
        name="an entry of nobody",
        says="the secret has an entry sendgird, which is no source",
        mend="bin/mailfold secrets remove sendgird",
        planted=secrets(lambda held: {**held, "sendgird": held["sendgrid"]}),
    ),
    Plant(
        name="no subscription",
        says="the topic is not subscribed to the queue",
        mend="aws sns subscribe --topic-arn … --protocol sqs --notification-endpoint …",
        planted=unsubscribed,
    ),
    Plant(
        name="raw delivery",
        says="raw delivery is on, so that nobody can tell which topic a notification comes from",
        mend=f"{SUBSCRIPTION} RawMessageDelivery --attribute-value false",
        planted=subscription("RawMessageDelivery", "true"),
    ),
    Plant(
        name="a subscription without a dead-letter queue",
        says="the subscription has no dead-letter queue",
        mend=f"""{SUBSCRIPTION} RedrivePolicy --attribute-value '{{"deadLetterTargetArn": "…"}}'""",
        planted=subscription("RedrivePolicy", "{}"),
    ),
    Plant(
        name="a queue that believes everybody",
        says="the queue's policy lets in others than the topic, and they are believed",
        mend="put back the policy of the template; both are shown by "
        "aws cloudformation detect-stack-drift --stack-name Mailfold",
        planted=queue("Policy", admitting_everybody),
    ),
    Plant(
        name="an event type that SES does not publish",
        says="the configuration set does not publish COMPLAINT",
        mend=PUBLISH_ALL,
        planted=destination(
            lambda it: {"MatchingEventTypes": [t for t in it["MatchingEventTypes"] if t != "COMPLAINT"]}
        ),
    ),
    Plant(
        name="a disabled event destination",
        says="the event destination of the configuration set is disabled",
        mend=PUBLISH_ALL,
        planted=destination(lambda _: {"Enabled": False}),
    ),
    Plant(
        name="a queue without a dead-letter queue",
        says="the queue has no dead-letter queue",
        mend=f"{QUEUE} {REDRIVE}",
        planted=queue("RedrivePolicy", lambda *_: ""),
    ),
    Plant(
        name="too few receives",
        says="a record leaves the queue after 3 receives, not after 40",
        mend=f"{QUEUE} {REDRIVE}",
        planted=queue("RedrivePolicy", lambda old, _: json.dumps({**json.loads(old), "maxReceiveCount": 3})),
    ),
    Plant(
        name="records that come back too early",
        says="a record is hidden for 2 s, but its reader needs 10",
        mend=f"{QUEUE} VisibilityTimeout=10",
        planted=queue("VisibilityTimeout", lambda *_: "2"),
    ),
    Plant(
        name="something in a dead-letter queue",
        says="the dead-letter queue of prune holds 1 record",
        mend="aws sqs receive-message --queue-url … tells why; then aws sqs purge-queue",
        planted=left_over,
    ),
    Plant(
        name="a disabled mapping",
        says="nothing reads the queue: its mapping to process is disabled",
        mend="aws lambda update-event-source-mapping --uuid … --enabled",
        planted=unmapped,
    ),
    Plant(
        name="functions that are told different sources",
        says="watch is told another SOURCES than the template says",
        mend="put it back in the environment: aws lambda update-function-configuration --function-name …",
        planted=told_otherwise,
    ),
    Plant(
        name="a disabled schedule",
        says="nothing calls prune: its schedule is disabled",
        mend="enable it, its other settings as they are: aws scheduler update-schedule --name …",
        planted=unscheduled,
    ),
    Plant(
        name="a migration that is missing",
        says="the migration 0002_soft_and_manual_stops.sql is not applied",
        mend=MIGRATE,
        planted=sql(
            "create table lost as select * from schema_migrations where version = 2;"
            "delete from schema_migrations where version = 2",
            "insert into schema_migrations select * from lost; drop table lost",
        ),
    ),
    Plant(
        name="a role that lost a right",
        says="mailfold_process may not insert on dead_letters",
        mend=MIGRATE,
        planted=sql(
            "revoke insert on dead_letters from mailfold_process", "grant insert on dead_letters to mailfold_process"
        ),
    ),
    Plant(
        name="a role that may too much",
        says="mailfold_process may delete on suppressions, which its step does not need",
        mend="as mailfold_owner: revoke delete on suppressions from mailfold_process",
        planted=sql(
            "grant delete on suppressions to mailfold_process", "revoke delete on suppressions from mailfold_process"
        ),
    ),
    Plant(
        name="a role without its limit",
        says="mailfold_prune has no lock_timeout of 2s",
        mend=MIGRATE,
        planted=sql(
            "alter role mailfold_prune reset lock_timeout", "alter role mailfold_prune set lock_timeout = '2s'"
        ),
    ),
)


@pytest.fixture(scope="module")
def place(running: LocalRun, stack: Stack) -> Place:
    """The stack as the command line reaches it."""
    return local_place(running.state)


@pytest.fixture
def patient(place: Place, database: pg8000.native.Connection) -> Patient:
    return Patient(place=place, database=database)


def doctor(place: Place, capsys: pytest.CaptureFixture[str], **options: Any) -> tuple[int, dict[str, Any]]:
    arguments = {"json": True, "only": None, "no_probe": True, **options}
    code = examine(argparse.Namespace(**arguments), place)
    return code, json.loads(capsys.readouterr().out)


def test_a_stack_as_deployed_is_clean_and_every_source_is_probed(
    patient: Patient, stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = doctor(patient.place, capsys, no_probe=False)

    assert (code, told["clean"], told["not_checked"]) == (0, True, 0), told
    assert [each["check"] for each in told["checks"]] == [check.name for check in CHECKS]
    count = len(stack.sources)
    assert told["checks"][-1]["notes"][0].startswith(f"{count} of {count} probes became rows")
    probes = "select count(*) from {} where recipient = 'doctor@mailfold.invalid'"
    assert patient.database.run(probes.format("email_events")) == [[0]]
    assert patient.database.run(probes.format("message_status")) == [[0]]
    assert patient.database.run("select count(*) from suppressions where address like '%mailfold.invalid'") == [[0]]


@pytest.mark.parametrize("plant", PLANTS, ids=[plant.name for plant in PLANTS])
def test_a_planted_misconfiguration_is_the_one_finding(
    patient: Patient, capsys: pytest.CaptureFixture[str], plant: Plant
) -> None:
    with plant.planted(patient):
        code, told = doctor(patient.place, capsys)

    findings = [finding for each in told["checks"] for finding in each["findings"]]
    assert [(each["what"], NAMES.sub("…", each["mend"])) for each in findings] == [(plant.says, plant.mend)]
    assert code == 1


def test_nothing_planted_is_left(patient: Patient, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = doctor(patient.place, capsys)

    assert code == 0, told


def test_the_documentation_lists_exactly_what_is_planted() -> None:
    page = (ROOT / "docs/doctor.md").read_text()
    part = page.partition("## What it finds")[2].partition("\n## ")[0]

    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `([^|]+)` \|$", part, re.MULTILINE)

    assert rows == [(plant.name, plant.says, plant.mend) for plant in PLANTS]
