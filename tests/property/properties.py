"""What must hold for every history; each returns without a word or fails with what differs."""

from random import Random

from tests.property.histories import Fact, History, every_order
from tests.property.pipeline import Pipeline
from tests.property.reference import actual, expected

#: Statements of one batch, BEGIN and COMMIT included, when everything happens: see docs/architecture.md.
STATEMENTS = 9
HOWS = ("exception", "connection", "after")


def check(pipeline: Pipeline, history: History, mark: str) -> None:
    """Compare every table with the fold of the set."""
    pipeline.sweep()
    found, wanted = actual(pipeline.admin, mark), expected(history.facts, mark)
    for table, rows in wanted.items():
        assert found[table] == rows, f"{table} of {mark}"


def any_delivery(pipeline: Pipeline, history: History, mark: str, rng: Random) -> None:
    """Order, copies, envelopes and batches make no difference."""
    pipeline.deliver(history, mark)
    check(pipeline, history, mark)


def every_permutation(pipeline: Pipeline, facts: tuple[Fact, ...], mark: str, rng: Random) -> None:
    """Not one order of a small set makes a difference."""
    for number, history in enumerate(every_order(facts)):
        any_delivery(pipeline, history, f"{mark}p{number}", rng)


def any_crash(pipeline: Pipeline, history: History, mark: str, rng: Random) -> None:
    """A worker that dies at any statement, and one whose COMMIT is done but never confirmed, leave all or nothing."""
    batches = len(history.batches)
    pipeline.deliver(history, mark, crash=(rng.randrange(STATEMENTS * batches), rng.choice(HOWS)))
    check(pipeline, history, mark)


def no_deadlock(pipeline: Pipeline, history: History, mark: str, rng: Random) -> None:
    """Batches that overlap in opposite orders wait for each other but never in a circle."""
    shared = tuple(plain_fact(number) for number in range(80))
    orders = [rng.sample(range(len(shared)), len(shared)) for _ in range(4)]
    crowd = History(shared, tuple((tuple(order),) for order in orders))
    reasons = pipeline.deliver_concurrently(crowd, mark, workers=4)
    assert not [reason for reason in reasons if "40P01" in reason], "deadlock"
    check(pipeline, crowd, mark)


def plain_fact(number: int) -> Fact:
    """Return an event of its own, on one of a few messages and addresses."""

    def make(mark: str) -> dict[str, object]:
        data = {"message_id": f"{mark}-m{number % 7}", "recipient": f"{mark}-{number % 5}@example.com"}
        return {"id": f"{mark}-{number}", "type": "bounce", "timestamp": "2026-01-01T00:00:00Z", "data": data}

    return Fact("sesmetric", make)


def any_concurrency(pipeline: Pipeline, history: History, mark: str, rng: Random) -> None:
    """Several workers with the same batches in different orders end where one would."""
    pipeline.deliver_concurrently(history, mark, workers=rng.randint(2, 8))
    check(pipeline, history, mark)
