"""How a running stack is misconfigured, and put right again."""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pg8000.native

from cli.place import Place
from tests.e2e.support import await_that

Planted = Callable[["InjectedStack"], contextlib.AbstractContextManager[None]]


@dataclass(frozen=True, kw_only=True)
class InjectedStack:
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
class Misconfiguration:
    """One misconfiguration; `planted` undoes it at the end."""

    name: str
    says: str
    fix: str
    planted: Planted


def secrets(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Planted:
    @contextlib.contextmanager
    def planted(injected: InjectedStack) -> Iterator[None]:
        manager, secret = injected.place.aws("secretsmanager"), injected.out("SecretArn")
        before = manager.get_secret_value(SecretId=secret)["SecretString"]
        manager.put_secret_value(SecretId=secret, SecretString=json.dumps(change(json.loads(before))))
        yield
        manager.put_secret_value(SecretId=secret, SecretString=before)

    return planted


def queue(name: str, value: Callable[[str, InjectedStack], str]) -> Planted:
    @contextlib.contextmanager
    def planted(injected: InjectedStack) -> Iterator[None]:
        sqs, url = injected.place.aws("sqs"), injected.out("QueueUrl")
        before = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"][name]
        sqs.set_queue_attributes(QueueUrl=url, Attributes={name: value(before, injected)})
        yield
        sqs.set_queue_attributes(QueueUrl=url, Attributes={name: before})

    return planted


def subscription(name: str, value: str) -> Planted:
    @contextlib.contextmanager
    def planted(injected: InjectedStack) -> Iterator[None]:
        sns = injected.place.aws("sns")
        [found] = sns.list_subscriptions_by_topic(TopicArn=injected.out("TopicArn"))["Subscriptions"]
        arn = found["SubscriptionArn"]
        before = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"].get(name, "")
        sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName=name, AttributeValue=value)
        yield
        sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName=name, AttributeValue=before)

    return planted


@contextlib.contextmanager
def unsubscribed(injected: InjectedStack) -> Iterator[None]:
    sns, topic = injected.place.aws("sns"), injected.out("TopicArn")
    [found] = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    attributes = sns.get_subscription_attributes(SubscriptionArn=found["SubscriptionArn"])["Attributes"]
    sns.unsubscribe(SubscriptionArn=found["SubscriptionArn"])
    yield
    kept = {name: attributes[name] for name in ("RawMessageDelivery", "RedrivePolicy")}
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=found["Endpoint"], Attributes=kept)


def destination(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Planted:
    @contextlib.contextmanager
    def planted(injected: InjectedStack) -> Iterator[None]:
        ses, name = injected.place.aws("sesv2"), injected.out("ConfigurationSetName")
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
def unmapped(injected: InjectedStack) -> Iterator[None]:
    functions, uuid = injected.place.aws("lambda"), injected.resource("Process", "AWS::Lambda::EventSourceMapping")

    def state() -> str:
        return str(functions.get_event_source_mapping(UUID=uuid)["State"])

    functions.update_event_source_mapping(UUID=uuid, Enabled=False)
    await_that(lambda: state() == "Disabled")
    yield
    functions.update_event_source_mapping(UUID=uuid, Enabled=True)
    await_that(lambda: state() == "Enabled")


@contextlib.contextmanager
def told_otherwise(injected: InjectedStack) -> Iterator[None]:
    functions, name = injected.place.aws("lambda"), injected.out("WatchFunctionName")
    before = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    fewer = json.dumps({"sendgrid": {"provider": "sendgrid"}})
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": {**before, "SOURCES": fewer}})
    yield
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": before})


@contextlib.contextmanager
def left_over(injected: InjectedStack) -> Iterator[None]:
    sqs, url = injected.place.aws("sqs"), injected.resource("PruneDeadLetters", "AWS::SQS::Queue")
    sqs.send_message(QueueUrl=url, MessageBody="{}")
    yield
    sqs.purge_queue(QueueUrl=url)


@contextlib.contextmanager
def unscheduled(injected: InjectedStack) -> Iterator[None]:
    scheduler, name = injected.place.aws("scheduler"), injected.resource("Prune", "AWS::Scheduler::Schedule")
    found = scheduler.get_schedule(Name=name)
    settings = {each: found[each] for each in ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")}
    scheduler.update_schedule(**settings, State="DISABLED")
    yield
    scheduler.update_schedule(**settings, State="ENABLED")


def sql(change: str, undo: str) -> Planted:
    @contextlib.contextmanager
    def planted(injected: InjectedStack) -> Iterator[None]:
        injected.database.run(change)
        yield
        injected.database.run(undo)

    return planted


def admitting_everybody(policy: str, injected: InjectedStack) -> str:
    open_door = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}
    parsed = json.loads(policy)
    return json.dumps({**parsed, "Statement": [*parsed["Statement"], open_door]})
