"""A dead-letter queue and the main queue in memory, a stack that answers orders by a table, and a clock."""

from collections.abc import Callable
from typing import Any

from cli.place import Place

DEAD, TOPIC_DEAD, MAIN = "dead", "topic-dead", "main"


class FakeQueues:
    """SQS with three queues; a record is visible, hidden or gone."""

    def __init__(self, *bodies: str) -> None:
        self.dead: dict[str, str] = {f"r{number}": body for number, body in enumerate(bodies)}
        self.topic_dead: dict[str, str] = {}
        self.main: list[str] = []
        self.hidden: set[str] = set()
        #: What the main queue says is waiting, answer by answer; the last one stays.
        self.waiting = [0]
        self.calls: list[str] = []
        #: Decides which bodies the main queue refuses.
        self.refuses: Callable[[str], bool] = lambda body: False
        #: Raised by the call of this name.
        self.crash: dict[str, BaseException] = {}
        #: Ids that a delete does not reach.
        self.sticky: set[str] = set()

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name in self.crash:
            raise self.crash[name]

    def _queue(self, url: str) -> dict[str, str]:
        return {DEAD: self.dead, TOPIC_DEAD: self.topic_dead}[url]

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == MAIN
        number = self.waiting.pop(0) if len(self.waiting) > 1 else self.waiting[0]
        return {"Attributes": dict.fromkeys(AttributeNames, str(number))}

    def receive_message(self, *, QueueUrl: str, MaxNumberOfMessages: int, **_: Any) -> dict[str, Any]:  # noqa: N803
        self._called("receive")
        queue = self._queue(QueueUrl)
        found = [key for key in queue if key not in self.hidden][:MaxNumberOfMessages]
        self.hidden.update(found)
        return {"Messages": [{"MessageId": key, "ReceiptHandle": key, "Body": queue[key]} for key in found]}

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == MAIN
        self._called("send")
        taken = [entry for entry in Entries if not self.refuses(entry["MessageBody"])]
        self.main += [entry["MessageBody"] for entry in taken]
        return {"Successful": [{"Id": entry["Id"]} for entry in taken]}

    def delete_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self._called("delete")
        gone = [entry for entry in Entries if entry["ReceiptHandle"] not in self.sticky]
        for entry in gone:
            del self._queue(QueueUrl)[entry["ReceiptHandle"]]
            self.hidden.discard(entry["ReceiptHandle"])
        return {"Successful": [{"Id": entry["Id"]} for entry in gone]}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> None:  # noqa: N803
        self._called("release")
        self.hidden -= {entry["ReceiptHandle"] for entry in Entries if entry["VisibilityTimeout"] == 0}


class FakePlace(Place):
    """A stack whose operate function is a table of answers."""

    def __init__(self, queues: FakeQueues, answers: dict[str, Callable[..., dict[str, Any]]]) -> None:
        outputs = {"QueueUrl": MAIN, "DeadLetterQueueUrl": DEAD, "TopicDeadLetterQueueUrl": TOPIC_DEAD}
        super().__init__(client=lambda _: queues, outputs=outputs, by="ann")
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "orders", [])

    def order(self, command: str, **arguments: Any) -> dict[str, Any]:
        self.orders.append((command, arguments))
        return self.answers[command](**arguments)


class FakeTime:
    """A clock that moves only by sleeping."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.naps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


def dead_letters(total: int, *, left: int = 0, unproven: int = 0) -> Callable[..., dict[str, Any]]:
    """Answer commands to redrive: so many dead letters, of which the first ones stay and the last ones are unproven."""
    ids = [f"{number:05}" for number in range(total)]

    def redrive(*, apply: bool, most: int, cursor: str = "", until: str = "now", **said: Any) -> dict[str, Any]:
        whole_page = [key for key in ids if key > cursor][:most]
        page = [key for key in whole_page if said.get("unproven") or int(key) < total - unproven]
        left_out = len(whole_page) - len(page)
        staying = [key for key in page if int(key) < left]
        why = {"source": "main", "kind": "unparseable", "reason": "no id", "dead_letters": len(staying)}
        return {
            "applied": apply,
            "dead_letters": len(page),
            "new": len(page) - len(staying),
            "duplicate": 0,
            "conflict": 0,
            "left": len(staying),
            "events": len(page) - len(staying),
            "reasons": [why] if staying else [],
            "left_out": left_out,
            "left_out_reason": "they failed an authenticity check" if left_out else None,
            "cursor": whole_page[-1] if whole_page else None,
            "until": until,
        }

    return redrive
