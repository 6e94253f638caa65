"""SQS: envelopes out, records in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from mailfold.envelope import SealedEnvelope
from mailfold.errors import QueueUnavailable

#: What SendMessageBatch takes: entries, and bytes of all of them together.
BATCH_ENTRIES = 10
BATCH_BYTES = 1_000_000
ATTEMPTS = 3


class SqsClient(Protocol):
    """The one call to SQS, as boto3 would take it."""

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> Mapping[str, Any]:  # noqa: N803
        """Send up to ten records."""


@dataclass(frozen=True, kw_only=True)
class Queue:
    """The queue that receive fills."""

    client: SqsClient
    url: str

    def send(self, envelopes: Sequence[SealedEnvelope]) -> None:
        """Return only when every envelope is durably queued."""
        for batch in _batches(envelopes):
            self._send_batch({str(index): envelope.text for index, envelope in enumerate(batch)})

    def _send_batch(self, waiting: dict[str, str]) -> None:
        for _ in range(ATTEMPTS):
            entries = [{"Id": entry_id, "MessageBody": text} for entry_id, text in waiting.items()]
            try:
                answer = self.client.send_message_batch(QueueUrl=self.url, Entries=entries)
            except Exception as exc:
                # Whatever goes wrong on the way to SQS means that nothing is known to be queued.
                raise QueueUnavailable(f"the queue did not answer: {type(exc).__name__}") from exc
            waiting = {entry_id: text for entry_id, text in waiting.items() if not _sent(answer, entry_id)}
            if not waiting:
                return
        raise QueueUnavailable(f"{len(waiting)} envelopes were refused {ATTEMPTS} times")


def _sent(answer: Mapping[str, Any], entry_id: str) -> bool:
    return any(entry["Id"] == entry_id for entry in answer.get("Successful", ()))


def _batches(envelopes: Sequence[SealedEnvelope]) -> Iterator[list[SealedEnvelope]]:
    batch: list[SealedEnvelope] = []
    size = 0
    for envelope in envelopes:
        if len(batch) == BATCH_ENTRIES or (batch and size + len(envelope.text) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(envelope)
        size += len(envelope.text)
    if batch:
        yield batch


@dataclass(frozen=True, kw_only=True)
class Record:
    """One SQS record as the event source mapping hands it over."""

    record_id: str
    body: str
    receive_count: int
    sent_at: datetime

    @classmethod
    def from_sqs(cls, record: Mapping[str, Any]) -> "Record":
        """Read one of `event["Records"]`."""
        attributes = record.get("attributes", {})
        return cls(
            record_id=record["messageId"],
            body=record["body"],
            receive_count=int(attributes.get("ApproximateReceiveCount", 1)),
            sent_at=datetime.fromtimestamp(int(attributes.get("SentTimestamp", 0)) / 1000, UTC),
        )
