"""The queue between the door and the database, and the queues for what could not be handed on."""

import math

from aws_cdk import Arn, ArnComponents, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.checks import acknowledge

#: The longest that SQS keeps a record.
RETENTION = Duration.days(14)

#: How long the database may be away before records leave for the dead-letter queue. Code takes poison out after
#: a few receives, so a record that is received more often than that has only been waiting.
OUTAGE = Duration.hours(4)


#: For what happens around a run of the reader: the hand-over, a cold start, the deletion of what was folded.
MARGIN = Duration.seconds(30)


class Queue(Construct):
    """A standard queue whose records outlive hours of outage, and its dead-letter queue."""

    def __init__(
        self, scope: Construct, construct_id: str, *, reader_timeout: Duration, batch_window: Duration
    ) -> None:
        super().__init__(scope, construct_id)
        # The two queues name each other; a fixed name is what breaks the circle.
        name = f"{Stack.of(self).stack_name.lower()}-envelopes"
        source = sqs.Queue.from_queue_arn(
            self, "Source", Arn.format(ArnComponents(service="sqs", resource=name), Stack.of(self))
        )
        self.dead_letters = dead_letter_queue(
            self, "DeadLetters", redrive=sqs.RedriveAllowPolicy(source_queues=[source])
        )
        visibility = visibility_timeout(reader_timeout, batch_window)
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=name,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=RETENTION,
            visibility_timeout=visibility,
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead_letters, max_receive_count=max_receive_count(visibility)
            ),
        )

    def grant_send(self, grantee: iam.IGrantable) -> None:
        """Allow sending; the address of the queue is given, so it need not be looked up."""
        iam.Grant.add_to_principal(grantee=grantee, actions=["sqs:SendMessage"], resource_arns=[self.queue.queue_arn])


def visibility_timeout(reader_timeout: Duration, batch_window: Duration) -> Duration:
    """Hide a record for one run of its reader: so long do the others of its batch wait after their worker was killed.

    AWS asks for six runs, for functions that are throttled (docs/decisions/0119-hidden-for-one-run.md).
    """
    return Duration.seconds(sum(int(part.to_seconds()) for part in (reader_timeout, batch_window, MARGIN)))


def max_receive_count(visibility: Duration) -> int:
    """Count the receives that an outage can cost: one for each time that a record is hidden."""
    return math.ceil(OUTAGE.to_seconds() / visibility.to_seconds())


def dead_letter_queue(
    scope: Construct, construct_id: str, *, redrive: sqs.RedriveAllowPolicy | None = None
) -> sqs.Queue:
    """Create a queue for what failed; without `redrive`, no other queue may send its own failures there."""
    nobody = sqs.RedriveAllowPolicy(redrive_permission=sqs.RedrivePermission.DENY_ALL)
    queue = sqs.Queue(
        scope,
        construct_id,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=RETENTION,
        redrive_allow_policy=redrive or nobody,
    )
    if redrive is None:
        acknowledge(queue, {"AwsSolutions-SQS3": "This is a dead-letter queue, though no other queue's."})
    return queue
