"""EventBridge: committed changes out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from mailfold.errors import BusUnavailable

SOURCE = "mailfold"
# https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
#: What PutEvents takes: entries, and bytes; its pages disagree whether 256 KB bound an entry or a call: here both.
BATCH_ENTRIES = 10
BATCH_BYTES = 250_000
LARGEST_BYTES = 250_000

#: Our word for an event that is not even sent.
TOO_LARGE = "TooLarge"
# https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsResultEntry.html
#: The event is to blame; every other code is about the bus, its policy or its load.
AT_FAULT = {TOO_LARGE, "InvalidArgument", "MalformedDetail"}


class EventsClient(Protocol):
    """The one call to EventBridge, as boto3 would take it."""

    def put_events(self, *, Entries: list[dict[str, Any]]) -> Mapping[str, Any]:  # noqa: N803
        """Send up to ten events."""


@dataclass(frozen=True, kw_only=True)
class BusEvent:
    """One event for the bus."""

    detail_type: str
    #: JSON in ASCII, so that its length is its size.
    detail: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Bus:
    """The bus that publish fills."""

    client: EventsClient
    name: str

    def put(self, events: Sequence[BusEvent]) -> list[str | None]:
        """Send one batch; return for each event why it was refused, or None if the bus has it."""
        sent = [event for event in events if len(event.detail) <= LARGEST_BYTES]
        answers = iter(self._put(sent) if sent else [])
        return [next(answers) if len(event.detail) <= LARGEST_BYTES else TOO_LARGE for event in events]

    def _put(self, events: Sequence[BusEvent]) -> list[str | None]:
        entries = [self._entry(event) for event in events]
        try:
            answers = self.client.put_events(Entries=entries)["Entries"]
        except Exception as exc:
            # botocore raises a class of its own per service error; each means that nothing is known to be published.
            raise BusUnavailable(f"the bus did not answer: {type(exc).__name__}") from exc
        if len(answers) != len(entries):
            raise BusUnavailable(f"the bus answered for {len(answers)} of {len(entries)} events")
        return [None if answer.get("EventId") else answer.get("ErrorCode", "unknown") for answer in answers]

    def _entry(self, event: BusEvent) -> dict[str, Any]:
        return {
            "EventBusName": self.name,
            "Source": SOURCE,
            "DetailType": event.detail_type,
            "Detail": event.detail,
            "Time": event.at,
        }


def batches(sizes: Sequence[int]) -> Iterator[slice]:
    """Cut a row of events of these sizes into what one call takes."""
    start, size = 0, 0
    for index, more in enumerate(sizes):
        if index - start == BATCH_ENTRIES or (index > start and size + more > BATCH_BYTES):
            yield slice(start, index)
            start, size = index, 0
        size += more
    if start < len(sizes):
        yield slice(start, len(sizes))
