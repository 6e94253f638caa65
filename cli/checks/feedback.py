"""The way of SES events: configuration set, topic, subscription, and the queue's policy that trusts the topic."""

import json
import re
from collections.abc import Iterator
from typing import Any

from cli.checks.examination import Examination, Finding, NotChecked, Said
from mailfold.providers.ses import TYPES

#: What the adapter reads, as the SES API writes it: "Rendering Failure" is RENDERING_FAILURE.
WANTED_TYPES = {re.sub(r"(?<=[a-z])(?=[A-Z])| ", "_", name).upper() for name in TYPES}


def check_topic(exam: Examination) -> Iterator[Said]:
    """Look at the topic, its subscription to the queue, and whom the queue lets in."""
    topic = _topic(exam)
    if exam.ask("sns", "get_topic_attributes", TopicArn=topic) is None:
        fix = "take the source that it feeds out of cdk.json, deploy, put it back and deploy again"
        yield Finding(what="the topic is not there", fix=fix)
        return
    yield from _subscription(exam, topic)
    yield from _policy(exam, topic)


def _topic(exam: Examination) -> str:
    if "TopicArn" not in exam.place.outputs:
        raise NotChecked("no source comes through a topic")
    return exam.place.outputs["TopicArn"]


def _subscription(exam: Examination, topic: str) -> Iterator[Said]:
    queue = exam.main_queue["QueueArn"]
    listed = (exam.ask("sns", "list_subscriptions_by_topic", TopicArn=topic) or {}).get("Subscriptions", [])
    ours = [each["SubscriptionArn"] for each in listed if each["Endpoint"] == queue]
    subscribe = f"aws sns subscribe --topic-arn {topic} --protocol sqs --notification-endpoint {queue}"
    if not ours:
        yield Finding(what="the topic is not subscribed to the queue", fix=subscribe)
        return
    if not ours[0].startswith("arn:"):
        yield Finding(what="the subscription of the queue is not confirmed", fix=subscribe)
        return
    attributes = (exam.ask("sns", "get_subscription_attributes", SubscriptionArn=ours[0]) or {})["Attributes"]
    change = f"aws sns set-subscription-attributes --subscription-arn {ours[0]} --attribute-name"
    if attributes.get("RawMessageDelivery") == "true":
        yield Finding(
            what="raw delivery is on, so that nobody can tell which topic a notification comes from",
            fix=f"{change} RawMessageDelivery --attribute-value false",
        )
    if json.loads(attributes.get("FilterPolicy") or "{}"):
        yield Finding(
            what="the subscription filters notifications away", fix=f"{change} FilterPolicy --attribute-value '{{}}'"
        )
    if "deadLetterTargetArn" not in json.loads(attributes.get("RedrivePolicy") or "{}"):
        yield Finding(
            what="the subscription has no dead-letter queue",
            fix=f"""{change} RedrivePolicy --attribute-value '{{"deadLetterTargetArn": "{_dead_letters(exam)}"}}'""",
        )


def _dead_letters(exam: Examination) -> str:
    """Return the ARN of the queue that the template has for what SNS cannot deliver."""
    for each in exam.of_kind("AWS::SNS::Subscription").values():
        target = each.wanted.get("RedrivePolicy", {}).get("deadLetterTargetArn", {})
        logical = target.get("Fn::GetAtt", [""])[0] if isinstance(target, dict) else ""
        if logical in exam.resources:
            return str((exam.queue(exam.resources[logical].name) or {}).get("QueueArn", ""))
    return "the ARN of the topic's dead-letter queue"


def _policy(exam: Examination, topic: str) -> Iterator[Said]:
    policy = json.loads(exam.main_queue.get("Policy") or "{}")
    allowed = [each for each in _listed(policy.get("Statement")) if each.get("Effect") == "Allow"]
    shown = f"aws cloudformation detect-stack-drift --stack-name {exam.place.stack}"
    fix = f"put back the policy of the template; both are shown by {shown}"
    if not any(_is_for(each, topic) for each in allowed):
        yield Finding(what="the queue's policy does not let the topic in", fix=fix)
    if any(not _is_for(each, topic) for each in allowed):
        yield Finding(what="the queue's policy lets in others than the topic, and they are believed", fix=fix)


def _is_for(statement: Any, topic: str) -> bool:
    """Tell whether a statement admits SNS for this topic and for nothing else."""
    named = {
        value
        for test, keys in statement.get("Condition", {}).items()
        if test in {"ArnEquals", "StringEquals"}
        for key, values in keys.items()
        if key.lower() == "aws:sourcearn"
        for value in _listed(values)
    }
    return statement.get("Principal") == {"Service": "sns.amazonaws.com"} and named == {topic}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def check_configuration_set(exam: Examination) -> Iterator[Said]:
    """Look at what SES publishes to the topic."""
    topic = _topic(exam)
    name = exam.place.output("ConfigurationSetName")
    answer = exam.ask("sesv2", "get_configuration_set_event_destinations", ConfigurationSetName=name)
    if answer is None:
        fix = f"aws sesv2 create-configuration-set --configuration-set-name {name}"
        yield Finding(what="the configuration set of SES is not there", fix=fix)
        return
    ours = [each for each in answer["EventDestinations"] if each.get("SnsDestination", {}).get("TopicArn") == topic]
    types = ",".join(sorted(WANTED_TYPES))
    settings = f"Enabled=true,SnsDestination={{TopicArn={topic}}},MatchingEventTypes=[{types}]"
    if not ours:
        yield Finding(
            what="the configuration set publishes nothing to the topic",
            fix=f"aws sesv2 create-configuration-set-event-destination --configuration-set-name {name} "
            f"--event-destination-name mailfold --event-destination '{settings}'",
        )
        return
    fix = (
        f"aws sesv2 update-configuration-set-event-destination --configuration-set-name {name} "
        f"--event-destination-name {ours[0]['Name']} --event-destination '{settings}'"
    )
    enabled = [each for each in ours if each.get("Enabled")]
    if not enabled:
        yield Finding(what="the event destination of the configuration set is disabled", fix=fix)
    missing = WANTED_TYPES - {kind for each in enabled or ours for kind in each["MatchingEventTypes"]}
    if missing:
        yield Finding(what=f"the configuration set does not publish {', '.join(sorted(missing))}", fix=fix)
