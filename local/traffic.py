"""The demo's traffic: what honest and dishonest senders send, in which order; nothing here is sent yet."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from local.samples import Keys, Raw, Sampler

#: How far back the events of one run reach.
SPAN = timedelta(hours=24)
#: Older than any provider's tolerance.
STALE = timedelta(days=3)
#: Events of one request, at most; a provider's own limit may be lower.
LARGEST_BATCH = 60
#: Of all requests: sent a second time, and kept back until all others are sent.
AGAIN, LATE = 0.2, 0.1
#: Of all events: sent once more, in a request with other company.
REGROUPED = 0.1
#: Of all requests: as many forged ones on top.
FORGED = 0.1

FORGERIES = ("wrong key", "changed byte", "stale", "no signature")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request that will be signed when it is sent."""

    source: str
    events: tuple[Raw, ...]
    #: What is wrong with it, if anything.
    forgery: str | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All traffic of one source."""

    source: str
    #: The marker of each event that must be stored exactly once.
    markers: frozenset[str]
    #: The marker of each event that must not be stored.
    forged_markers: frozenset[str]
    #: In the order of sending.
    requests: tuple[Request, ...]

    @property
    def copies(self) -> int:
        """How many events are sent beyond the first copy of each."""
        return sum(len(request.events) for request in self.honest) - len(self.markers)

    @property
    def honest(self) -> tuple[Request, ...]:
        """The requests without a forgery."""
        return tuple(request for request in self.requests if request.forgery is None)


def plan(*, source: str, sampler: Sampler, events: int, run: str, rng: Random, now: datetime, signed: bool) -> Plan:
    """Plan one source's traffic; every marker begins with `run`."""
    markers = [f"{run}-{source}-{number}" for number in range(events)]
    raws = {marker: sampler.generate(rng, marker, now - rng.random() * SPAN) for marker in markers}
    rng.shuffle(markers)
    requests = list(_requests(source, [raws[marker] for marker in markers], sampler.BATCH, rng))
    again = rng.sample(requests, round(len(requests) * AGAIN))
    company = rng.sample(markers, round(len(markers) * REGROUPED))
    requests += again + list(_requests(source, [raws[marker] for marker in company], sampler.BATCH, rng))
    rng.shuffle(requests)
    late = round(len(requests) * LATE)
    requests = requests[late:] + requests[:late]
    forged = dict(_forged(source, sampler, run, rng, now, len(requests))) if signed else {}
    for request in forged.values():
        requests.insert(rng.randrange(len(requests) + 1), request)
    return Plan(source=source, markers=frozenset(markers), forged_markers=frozenset(forged), requests=tuple(requests))


def _requests(source: str, raws: list[Raw], batch: int, rng: Random) -> Iterator[Request]:
    while raws:
        size = rng.randint(1, min(batch, LARGEST_BATCH))
        yield Request(source=source, events=tuple(raws[:size]))
        raws = raws[size:]


def _forged(
    source: str, sampler: Sampler, run: str, rng: Random, now: datetime, honest: int
) -> Iterator[tuple[str, Request]]:
    for number in range(max(len(FORGERIES), round(honest * FORGED))):
        marker = f"{run}-{source}-forged-{number}"
        raw = sampler.generate(rng, marker, now)
        yield marker, Request(source=source, events=(raw,), forgery=FORGERIES[number % len(FORGERIES)])


def signed(request: Request, sampler: Sampler, keys: Keys, now: datetime) -> tuple[bytes, Mapping[str, str]]:
    """Return body and headers as the provider would send them at `now`, or as the forger would."""
    body = sampler.body(list(request.events))
    match request.forgery:
        case "wrong key":
            return body, sampler.sign(body, sampler.make_keys(), now)
        case "changed byte":
            middle = len(body) // 2
            changed = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
            return changed, sampler.sign(body, keys, now)
        case "stale":
            return body, sampler.sign(body, keys, now - STALE)
        case "no signature":
            return body, {"Content-Type": sampler.sign(body, keys, now)["Content-Type"]}
        case _:
            return body, sampler.sign(body, keys, now)
