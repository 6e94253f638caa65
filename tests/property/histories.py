"""Random sets of events, and every way the world may deliver them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import permutations
from typing import Any

from hypothesis import strategies as st

from mailfold.jsontext import dumps

Raw = dict[str, Any]

#: Few of each, so that events meet: on one message, one address, one instant, one id.
MESSAGES = ("m0", "m1", None)
PEOPLE = ("ann@example.com", "bob@example.com")
IDS = ("e0", "e1", "e2", "e3", "e4")
#: Equal stamps, near ones, and ones that only a broken clock makes.
TIMES = (
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:01Z",
    "2026-01-01T00:00:01.000001Z",
    "2026-02-01T00:00:00+02:00",
    "0001-01-02T00:00:00Z",
    "9999-12-30T00:00:00Z",
)
KINDS = ("send", "delivery", "bounce", "complaint", "open", "unsubscribe", "resubscribe", "novelty")
SENDGRID_KINDS = ("delivered", "bounce", "deferred", "open", "click", "group_unsubscribe", "group_resubscribe")
POISON = ({"type": "delivery"}, {"id": "x"}, {"id": "x", "type": "open", "timestamp": "never"})
UNIX_TIMES = (1767225600, 1767225601, 1, 253402214400)


@dataclass(frozen=True)
class Fact:
    """One raw event of one source, with a mark wherever it must be made unlike every other history's."""

    source: str
    make: Callable[[str], Raw]

    def raw(self, mark: str) -> Raw:
        """Return the event for one history."""
        return self.make(mark)


@dataclass(frozen=True)
class History:
    """A set of events and one way of delivering it: batches of envelopes of facts, by their places."""

    facts: tuple[Fact, ...]
    batches: tuple[tuple[tuple[int, ...], ...], ...]


def _marked(mark: str, value: str | None) -> str | None:
    return None if value is None else f"{mark}-{value}"


@st.composite
def sesmetric(draw: st.DrawFn) -> Fact:
    """An event whose id may be used for other content too."""
    kind = draw(st.sampled_from(KINDS))
    event_id, message = draw(st.sampled_from(IDS)), draw(st.sampled_from(MESSAGES))
    person, at = draw(st.sampled_from(PEOPLE)), draw(st.sampled_from(TIMES))
    bounce_type = draw(st.sampled_from(("Permanent", "Transient", None)))

    def make(mark: str) -> Raw:
        data = {"message_id": _marked(mark, message), "recipient": _marked(mark, person), "bounce_type": bounce_type}
        return {"id": _marked(mark, event_id), "type": kind, "timestamp": at, "data": data}

    return Fact("sesmetric", make)


@st.composite
def sendgrid(draw: st.DrawFn) -> Fact:
    """An event that may be scoped, or be redelivered under another id."""
    kind = draw(st.sampled_from(SENDGRID_KINDS))
    event_id, message = draw(st.sampled_from(IDS)), draw(st.sampled_from(("m0", "m1")))
    person, at = draw(st.sampled_from(PEOPLE)), draw(st.sampled_from(UNIX_TIMES))
    group = draw(st.sampled_from((1, 2)))

    def make(mark: str) -> Raw:
        return {
            "event": kind,
            "email": _marked(mark, person),
            "timestamp": at,
            "sg_event_id": _marked(mark, f"{kind}-{event_id}"),
            "sg_message_id": _marked(mark, message),
            "asm_group_id": group,
        }

    return Fact("sendgrid", make)


@st.composite
def poison(draw: st.DrawFn) -> Fact:
    """An event that can never be folded."""
    detail = draw(st.sampled_from(POISON))
    return Fact("sesmetric", lambda mark: {**detail, "mark": mark})


@st.composite
def soft(draw: st.DrawFn) -> Fact:
    """A soft bounce, or a delivery that breaks a row of them, of one address."""
    number, second = draw(st.integers(0, 12)), draw(st.integers(0, 6))
    kind = draw(st.sampled_from(("bounce", "bounce", "bounce", "delivery")))

    def make(mark: str) -> Raw:
        data = {"message_id": _marked(mark, "s"), "recipient": _marked(mark, PEOPLE[0]), "bounce_type": "Transient"}
        return {
            "id": _marked(mark, f"s{number}"),
            "type": kind,
            "timestamp": f"2026-03-01T00:00:0{second}Z",
            "data": data,
        }

    return Fact("sesmetric", make)


facts = st.one_of(soft(), soft(), soft(), sesmetric(), sesmetric(), sendgrid(), poison())


@st.composite
def histories(draw: st.DrawFn, *, largest: int = 10) -> History:
    """A set of events, each delivered at least once, in any order, any company and any batches."""
    chosen = tuple(draw(st.lists(facts, min_size=1, max_size=largest)))
    places = list(range(len(chosen)))
    copies = draw(st.lists(st.sampled_from(places), max_size=len(chosen)))
    order = draw(st.permutations(places + copies))
    envelopes = _cut(draw, order)
    return History(chosen, tuple(tuple(batch) for batch in _cut(draw, envelopes)))


def _cut(draw: st.DrawFn, items: Sequence[Any]) -> list[Any]:
    """Cut a list anywhere."""
    cuts = draw(st.lists(st.booleans(), min_size=max(0, len(items) - 1), max_size=max(0, len(items) - 1)))
    pieces: list[list[Any]] = [[]]
    for item, cut_after in zip(items, [*cuts, False], strict=True):
        pieces[-1].append(item)
        if cut_after:
            pieces.append([])
    return [tuple(piece) for piece in pieces if piece]


def every_order(facts: Sequence[Fact]) -> list[History]:
    """Every permutation of a small set, one event to a batch."""
    return [History(tuple(facts), tuple(((place,),) for place in order)) for order in permutations(range(len(facts)))]


def envelope_body(facts: Sequence[Fact], mark: str) -> list[str]:
    """Return the queue records of one envelope; events of several sources need one each."""
    bodies = []
    for source in sorted({fact.source for fact in facts}):
        events = [fact.raw(mark) for fact in facts if fact.source == source]
        text = dumps(events)
        bodies.append(
            dumps(
                {
                    "mailfold": 1,
                    "source": source,
                    "provider": source,
                    "claim_key": f"{mark}:{sha256(text.encode()).hexdigest()}",
                    "request_hash": sha256(text.encode()).hexdigest()[:32],
                    "received_at": "2026-01-01T00:00:00+00:00",
                    "headers": {},
                    "events": events,
                }
            )
        )
    return bodies
