"""How fast a long piece of work may go: at a bounded rate, and never while live traffic waits."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from cli.errors import TryAgain
from cli.place import Place, asking

Result = TypeVar("Result")

#: Records that wait in the queue; fewer are only on their way from one poll to the next.
BACKLOG = 100
#: How long to wait before looking again, and before trying again what could not be done.
PAUSE_SECONDS = 1.0
ATTEMPTS = 5


def waiting_records(place: Place) -> int:
    """Return how many records of live traffic wait for process."""
    name = "ApproximateNumberOfMessages"
    with asking("the queue"):
        answer = place.aws("sqs").get_queue_attributes(QueueUrl=place.output("QueueUrl"), AttributeNames=[name])
    return int(answer["Attributes"][name])


def say(sentence: str) -> None:
    """Tell the person what happens; standard output is for the result."""
    print(sentence, file=sys.stderr, flush=True)


@dataclass(kw_only=True)
class Pace:
    """Lets a loop go on when it may."""

    rate: int
    backlog: Callable[[], int]
    most_waiting: int = BACKLOG
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    tell: Callable[[str], None] = say
    #: When the next piece of work may begin.
    _free_at: float = field(default=0.0, init=False)

    def take(self, count: int) -> None:
        """Return once so many more may be done and nothing of the live traffic waits."""
        self._let_live_traffic_pass()
        now = self.clock()
        if now < self._free_at:
            self.sleep(self._free_at - now)
        self._free_at = max(self._free_at, now) + count / self.rate

    def again(self, work: Callable[[], Result]) -> Result:
        """Do a piece of work, again where the stack says that it could succeed later."""
        for _ in range(ATTEMPTS - 1):
            try:
                return work()
            except TryAgain as refusal:
                self.tell(f"{refusal}; trying again")
                self.sleep(PAUSE_SECONDS)
        return work()

    def _let_live_traffic_pass(self) -> None:
        waiting = self.backlog()
        if waiting <= self.most_waiting:
            return
        self.tell(f"{waiting} records of live traffic wait in the queue: going on once they are folded")
        while waiting > self.most_waiting:
            self.sleep(PAUSE_SECONDS)
            waiting = self.backlog()
