"""SES: every event type reaches the queue, wrapped, through a topic that only SES may publish to."""

from mailfold.providers import ses
from tests.infra.template import Synthesised
from tests.infra.test_queue import feeding_topic, main_queue, policy_of


def test_the_subscription_is_wrapped_and_keeps_what_it_cannot_deliver(stack: Synthesised) -> None:
    queue, main = main_queue(stack)
    topic = feeding_topic(stack)
    _, subscription = stack.only("AWS::SNS::Subscription")
    dead = subscription["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]

    assert subscription["TopicArn"] == {"Ref": topic}
    assert subscription["Endpoint"] == {"Fn::GetAtt": [queue, "Arn"]}
    assert subscription["Protocol"] == "sqs"
    assert not subscription.get("RawMessageDelivery")
    assert dead not in (queue, main["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0])
    (allowed,) = [it for it in policy_of(stack, dead) if it["Effect"] == "Allow"]
    assert allowed["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Ref": topic}}}


def test_only_this_configuration_set_publishes_and_only_over_tls(stack: Synthesised) -> None:
    configuration_set, _ = stack.only("AWS::SES::ConfigurationSet")
    topic = feeding_topic(stack)
    (policy,) = [it for it in stack.all("AWS::SNS::TopicPolicy").values() if it["Topics"] == [{"Ref": topic}]]
    statements = policy["PolicyDocument"]["Statement"]

    (denied,) = [it for it in statements if it["Effect"] == "Deny"]
    (allowed,) = [it for it in statements if it["Effect"] == "Allow"]

    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert allowed["Principal"] == {"Service": "ses.amazonaws.com"}
    condition = allowed["Condition"]["StringEquals"]
    assert condition["AWS:SourceAccount"] == {"Ref": "AWS::AccountId"}
    assert {"Ref": configuration_set} in condition["AWS:SourceArn"]["Fn::Join"][1]


def test_ses_publishes_every_type_that_the_adapter_reads(stack: Synthesised) -> None:
    topic = feeding_topic(stack)
    _, destination = stack.only("AWS::SES::ConfigurationSetEventDestination")
    published = {kind.lower() for kind in destination["EventDestination"]["MatchingEventTypes"]}

    assert destination["EventDestination"]["Enabled"] is True
    assert destination["EventDestination"]["SnsDestination"] == {"TopicARN": {"Ref": topic}}
    assert {kind.replace(" ", "").lower() for kind in ses.TYPES} <= published
