"""Stand-ins for the AWS clients that the functions hold: small, in memory, and able to fail on demand."""

import json
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

#: Decides about one call: the ids of the entries that are refused.
Fault = Callable[[list[dict[str, Any]]], list[str]]


class FakeSqs:
    """Keeps what was sent; each fault of the list answers one call."""

    def __init__(self, *faults: Fault | Exception) -> None:
        self.bodies: list[str] = []
        self.calls: list[list[dict[str, Any]]] = []
        self._faults = deque(faults)

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.calls.append(Entries)
        fault = self._faults.popleft() if self._faults else None
        if isinstance(fault, Exception):
            raise fault
        refused = fault(Entries) if fault else []
        self.bodies += [entry["MessageBody"] for entry in Entries if entry["Id"] not in refused]
        return {
            "Successful": [{"Id": entry["Id"]} for entry in Entries if entry["Id"] not in refused],
            "Failed": [{"Id": entry_id, "Code": "InternalError", "SenderFault": False} for entry_id in refused],
        }


#: Decides about one call to EventBridge: why each entry is refused, or None where it is taken.
Verdict = Callable[[list[dict[str, Any]]], Sequence[str | None]]


class FakeEvents:
    """Keeps the details that the bus has taken, in order; each verdict of the list answers one call."""

    def __init__(self, *verdicts: Verdict | BaseException, otherwise: Verdict | None = None) -> None:
        self.details: list[dict[str, Any]] = []
        self.calls: list[list[dict[str, Any]]] = []
        self._verdicts = deque(verdicts)
        #: What answers when the list is used up.
        self.otherwise = otherwise

    def put_events(self, *, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.calls.append(Entries)
        verdict = self._verdicts.popleft() if self._verdicts else self.otherwise
        if isinstance(verdict, BaseException):
            raise verdict
        codes = verdict(Entries) if verdict else [None] * len(Entries)
        self.details += [json.loads(entry["Detail"]) for entry, code in zip(Entries, codes, strict=True) if not code]
        answers = [{"ErrorCode": code, "ErrorMessage": "no"} if code else {"EventId": "e"} for code in codes]
        return {"FailedEntryCount": sum(map(bool, codes)), "Entries": answers}

    def keyed(self) -> dict[str, list[int]]:
        """Return the numbers of what the bus has taken, by key, without repetitions."""
        numbers: dict[str, dict[int, None]] = {}
        for detail in self.details:
            numbers.setdefault(detail["key"], {})[detail["sequence"]] = None
        return {key: list(seen) for key, seen in numbers.items()}


def refuse_keys(code: str, *keys: str) -> Verdict:
    """Refuse the changes of these keys."""
    return lambda entries: [code if json.loads(entry["Detail"])["key"] in keys else None for entry in entries]


def refuse(*positions: int) -> Fault:
    """Refuse the entries at these places of a call."""
    return lambda entries: [entries[position]["Id"] for position in positions]


def refuse_all(entries: list[dict[str, Any]]) -> list[str]:
    """Refuse every entry of a call."""
    return [entry["Id"] for entry in entries]


class Clock:
    """A clock that moves only when told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now
