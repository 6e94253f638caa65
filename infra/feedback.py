"""Amazon SES: its events reach the queue through a topic, trusted by the queue's policy instead of a signature."""

from aws_cdk import aws_ses as ses
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.queue import dead_letter_queue

# https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html
EVENTS = [
    ses.EmailSendingEvent.SEND,
    ses.EmailSendingEvent.REJECT,
    ses.EmailSendingEvent.BOUNCE,
    ses.EmailSendingEvent.COMPLAINT,
    ses.EmailSendingEvent.DELIVERY,
    ses.EmailSendingEvent.OPEN,
    ses.EmailSendingEvent.CLICK,
    ses.EmailSendingEvent.RENDERING_FAILURE,
    ses.EmailSendingEvent.DELIVERY_DELAY,
    ses.EmailSendingEvent.SUBSCRIPTION,
]


class Feedback(Construct):
    """A configuration set that publishes every event to a topic, and the topic's way into the queue."""

    def __init__(self, scope: Construct, construct_id: str, *, queue: sqs.IQueue) -> None:
        super().__init__(scope, construct_id)
        self.topic = sns.Topic(self, "Topic", enforce_ssl=True)
        self.dead_letters = dead_letter_queue(self, "DeadLetters")
        self.topic.add_subscription(
            subscriptions.SqsSubscription(
                queue,
                # The wrapping names the topic, which is how process knows the source.
                raw_message_delivery=False,
                dead_letter_queue=self.dead_letters,
            )
        )
        self.configuration_set = ses.ConfigurationSet(self, "ConfigurationSet")
        self.configuration_set.add_event_destination(
            "Topic", destination=ses.EventDestination.sns_topic(self.topic), events=EVENTS
        )
