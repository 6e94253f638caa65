"""One dead-letter queue and the queue that its records go back to."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cli.errors import CommandError
from cli.place import Place, asking

#: What SQS hands out, and takes, at once: records, and bytes of all of them together.
BATCH = 10
BATCH_BYTES = 1_000_000
#: How long a record is hidden from others while it is looked at: longer than a run should take.
HIDE_SECONDS = 600
#: Asking all of SQS's servers instead of a few takes this long at most; only then is an empty answer a true one.
WAIT_SECONDS = 2

#: name -> the output of the stack that says where the queue is
QUEUES = {"records": "DeadLetterQueueUrl", "topic": "TopicDeadLetterQueueUrl"}


@dataclass(frozen=True, kw_only=True)
class Record:
    """One record of a dead-letter queue, as it was received."""

    record_id: str
    receipt: str
    body: str


@dataclass(frozen=True, kw_only=True)
class DeadQueue:
    """A record leaves the dead-letter queue only after SQS has said that it is on the other one."""

    name: str
    sqs: Any
    url: str
    main_url: str

    def receive(self, most: int) -> list[Record]:
        """Take some records and hide them from others; none only if there are none."""
        with asking(f"the dead-letter queue {self.name}"):
            answer = self.sqs.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=most,
                VisibilityTimeout=HIDE_SECONDS,
                WaitTimeSeconds=WAIT_SECONDS,
            )
        return [
            Record(record_id=it["MessageId"], receipt=it["ReceiptHandle"], body=it["Body"])
            for it in answer.get("Messages", ())
        ]

    def send(self, records: Sequence[Record]) -> list[Record]:
        """Put records onto the main queue; return those that SQS says it has."""
        sent: list[Record] = []
        for batch in _batches(records):
            entries = [{"Id": str(index), "MessageBody": record.body} for index, record in enumerate(batch)]
            try:
                with asking("the queue"):
                    answer = self.sqs.send_message_batch(QueueUrl=self.main_url, Entries=entries)
            except CommandError:
                if not sent:
                    raise
                # What is on the queue must leave the dead-letter queue, or it comes as a copy.
                return sent
            sent += [batch[int(entry["Id"])] for entry in answer.get("Successful", ())]
        return sent

    def delete(self, records: Sequence[Record]) -> list[Record]:
        """Take records out of the dead-letter queue for good; return those that are gone."""
        if not records:
            return []
        entries = [{"Id": str(index), "ReceiptHandle": record.receipt} for index, record in enumerate(records)]
        with asking(f"the dead-letter queue {self.name}"):
            answer = self.sqs.delete_message_batch(QueueUrl=self.url, Entries=entries)
        return [records[int(entry["Id"])] for entry in answer.get("Successful", ())]

    def release(self, records: Iterable[Record]) -> None:
        """Let others see records again, now and not after their time."""
        held = list(records)
        for start in range(0, len(held), BATCH):
            entries = [
                {"Id": str(index), "ReceiptHandle": record.receipt, "VisibilityTimeout": 0}
                for index, record in enumerate(held[start : start + BATCH])
            ]
            with asking(f"the dead-letter queue {self.name}"):
                self.sqs.change_message_visibility_batch(QueueUrl=self.url, Entries=entries)


def dead_queues(place: Place, only: str | None = None) -> list[DeadQueue]:
    """Return the dead-letter queues of a stack; that of the topic only where it has a topic."""
    names = [name for name, output in QUEUES.items() if only in (None, name) and output in place.outputs]
    if not names:
        raise CommandError(f"the stack has no such dead-letter queue: {only or ', '.join(QUEUES)}")
    return [
        DeadQueue(name=name, sqs=place.aws("sqs"), url=place.outputs[QUEUES[name]], main_url=place.output("QueueUrl"))
        for name in names
    ]


def _batches(records: Sequence[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    size = 0
    for record in records:
        length = len(record.body.encode())
        if len(batch) == BATCH or (batch and size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += length
    if batch:
        yield batch
