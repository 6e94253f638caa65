"""The demo's traffic: what honest and dishonest senders send, in which order; nothing here is sent yet."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle
from random import Random

from samples import Keys, Raw, Sampler, signed

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

FORGERIES = ("wrong key", "no proof", "changed byte", "stale")

# What a proof does not cover, nobody can refuse: docs/security.md says what follows from it for each provider.
#: Their requests prove the sender, but not the body.
BODY_UNPROVEN = frozenset({"brevo", "mailgun", "mailjet", "postmark", "sparkpost"})
#: Their proof carries no time.
TIME_UNPROVEN = frozenset(
    {"brevo", "mailersend", "mailjet", "mailtrap", "mandrill", "postal", "postmark", "sparkpost", "unisender"}
)


def forgeries(provider: str) -> tuple[str, ...]:
    """Name the forgeries that this provider's proof must reveal."""
    unproven = {"changed byte": provider in BODY_UNPROVEN, "stale": provider in TIME_UNPROVEN}
    return tuple(forgery for forgery in FORGERIES if not unproven.get(forgery))


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


def plan(
    *, source: str, sampler: Sampler, events: int, run: str, rng: Random, now: datetime, forgeries: Sequence[str]
) -> Plan:
    """Plan one source's traffic; every marker begins with `run`."""
    markers = _numbered(f"{run}-{source}", events)
    raws = {marker: sampler.generate(rng, marker, now - rng.random() * SPAN) for marker in markers}
    rng.shuffle(markers)
    requests = list(_requests(source, [raws[marker] for marker in markers], sampler.BATCH, rng))
    again = rng.sample(requests, round(len(requests) * AGAIN))
    company = rng.sample(markers, round(len(markers) * REGROUPED))
    requests += again + list(_requests(source, [raws[marker] for marker in company], sampler.BATCH, rng))
    rng.shuffle(requests)
    late = round(len(requests) * LATE)
    requests = requests[late:] + requests[:late]
    count = max(len(forgeries), round(len(requests) * FORGED)) if forgeries else 0
    forged = {
        marker: Request(source=source, events=(sampler.generate(rng, marker, now),), forgery=forgery)
        for marker, forgery in zip(_numbered(f"{run}-{source}-forged", count), cycle(forgeries), strict=False)
    }
    for request in forged.values():
        requests.insert(rng.randrange(len(requests) + 1), request)
    return Plan(source=source, markers=frozenset(markers), forged_markers=frozenset(forged), requests=tuple(requests))


def _requests(source: str, raws: list[Raw], batch: int, rng: Random) -> Iterator[Request]:
    while raws:
        size = rng.randint(1, min(batch, LARGEST_BATCH))
        yield Request(source=source, events=tuple(raws[:size]))
        raws = raws[size:]


def _numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{number}" for number in range(count)]


def dressed(request: Request, sampler: Sampler, keys: Keys, now: datetime) -> tuple[bytes, Mapping[str, str]]:
    """Return body and headers as the provider would send them at `now`, or as the forger would."""
    plain = sampler.body(list(request.events))
    match request.forgery:
        case "wrong key":
            return signed(sampler, plain, sampler.make_keys(), now)
        case "no proof":
            return plain, {"Content-Type": signed(sampler, plain, keys, now)[1]["Content-Type"]}
        case "changed byte":
            body, headers = signed(sampler, plain, keys, now)
            middle = len(body) // 2
            return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :], headers
        case "stale":
            return signed(sampler, plain, keys, now - STALE)
        case _:
            return signed(sampler, plain, keys, now)
