"""The bus: what one call may hold, and what its answers mean."""

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from mailfold.bus import AT_FAULT, BATCH_BYTES, BATCH_ENTRIES, LARGEST_BYTES, TOO_LARGE, Bus, BusEvent, batches
from mailfold.errors import BusUnavailable
from tests.support.fakes import FakeEvents

#: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
EVENTBRIDGE_ENTRIES = 10
#: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
EVENTBRIDGE_BYTES = 256 * 1024
#: Of an entry beside its detail: source, detail type and 14 bytes for the time.
OVERHEAD_BYTES = 100
AT = datetime(2026, 1, 1, tzinfo=UTC)


def event(text: str = '{"key":"k"}', *, size: int = 0) -> BusEvent:
    return BusEvent(detail_type="status changed", detail=text.ljust(size), at=AT)


def test_an_event_says_where_it_is_from_what_it_is_and_when_it_was() -> None:
    events = FakeEvents()

    answers = Bus(client=events, name="the-bus").put([event()])

    assert answers == [None]
    assert events.calls == [
        [
            {
                "EventBusName": "the-bus",
                "Source": "mailfold",
                "DetailType": "status changed",
                "Detail": '{"key":"k"}',
                "Time": AT,
            }
        ]
    ]


def test_a_refusal_stands_at_the_place_of_its_event() -> None:
    events = FakeEvents(lambda _: [None, "ThrottlingException", None])

    answers = Bus(client=events, name="b").put([event(), event(), event()])

    assert answers == [None, "ThrottlingException", None]


def test_what_is_too_large_is_not_sent_and_its_neighbours_are() -> None:
    events = FakeEvents(lambda _: ["InternalFailure", None])
    largest, too_large = event(size=LARGEST_BYTES), event(size=LARGEST_BYTES + 1)

    answers = Bus(client=events, name="b").put([too_large, event(), too_large, largest])

    assert answers == [TOO_LARGE, "InternalFailure", TOO_LARGE, None]
    assert [len(call) for call in events.calls] == [2]
    assert {TOO_LARGE} <= AT_FAULT


def test_nothing_but_too_large_events_makes_no_call() -> None:
    events = FakeEvents()

    answers = Bus(client=events, name="b").put([event(size=LARGEST_BYTES + 1)])

    assert (answers, events.calls) == ([TOO_LARGE], [])


class Answering:
    """A client that answers whatever a test wants."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def put_events(self, **_: object) -> Any:
        return self._answer


@pytest.mark.parametrize("answer", [{}, {"Entries": []}, {"Entries": [{"EventId": "e"}] * 3}, None])
def test_an_answer_that_does_not_speak_of_each_event_is_none(answer: Any) -> None:
    with pytest.raises(BusUnavailable):
        Bus(client=Answering(answer), name="b").put([event(), event()])


@pytest.mark.parametrize("entry", [{}, {"EventId": ""}, {"EventId": None, "ErrorMessage": "no"}])
def test_an_event_without_an_id_is_not_taken_even_when_nobody_says_why(entry: dict[str, Any]) -> None:
    assert Bus(client=Answering({"Entries": [entry]}), name="b").put([event()]) == ["unknown"]


@pytest.mark.parametrize(
    "failure",
    [
        ClientError({"Error": {"Code": "AccessDenied", "Message": "ann@example.com"}}, "PutEvents"),
        EndpointConnectionError(endpoint_url="https://ann@example.com"),
        TimeoutError("ann@example.com"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_client_that_fails_makes_the_bus_unavailable_and_quotes_nothing(failure: Exception) -> None:
    with pytest.raises(BusUnavailable) as unavailable:
        Bus(client=FakeEvents(failure), name="b").put([event()])

    assert "ann" not in str(unavailable.value)


@pytest.mark.parametrize(
    ("sizes", "cut"),
    [
        ([], []),
        ([1], [1]),
        ([1] * 10, [10]),
        ([1] * 11, [10, 1]),
        ([1] * 25, [10, 10, 5]),
        ([BATCH_BYTES, 1], [1, 1]),
        ([BATCH_BYTES // 2, BATCH_BYTES // 2, 1], [2, 1]),
        ([LARGEST_BYTES] * 2, [1, 1]),
        ([BATCH_BYTES + 1, BATCH_BYTES + 1], [1, 1]),
    ],
)
def test_a_row_of_events_is_cut_into_what_a_call_takes(sizes: list[int], cut: list[int]) -> None:
    parts = [sizes[part] for part in batches(sizes)]

    assert [len(part) for part in parts] == cut
    assert [size for part in parts for size in part] == sizes


def test_our_limits_are_within_those_of_eventbridge() -> None:
    assert BATCH_ENTRIES <= EVENTBRIDGE_ENTRIES
    assert BATCH_BYTES + BATCH_ENTRIES * OVERHEAD_BYTES <= EVENTBRIDGE_BYTES
    assert LARGEST_BYTES + OVERHEAD_BYTES <= EVENTBRIDGE_BYTES
