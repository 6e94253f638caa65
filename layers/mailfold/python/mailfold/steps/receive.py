"""receive: one HTTP request in, its envelopes durably on the queue, then 200."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mailfold.envelope import hash_body, seal
from mailfold.errors import (
    CannotAccept,
    MethodNotAllowed,
    Refused,
    SecretUnavailable,
    TooLarge,
    UnknownSource,
    VerificationError,
)
from mailfold.fetch import Fetcher
from mailfold.keyed import Keyed, check_key
from mailfold.providers import REGISTRY
from mailfold.providers.base import Provider
from mailfold.queue import Queue
from mailfold.request import Request, Source, VerifiedRequest
from mailfold.secrets import Secrets
from mailfold.telemetry import Telemetry


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the provider is told."""

    status: int
    body: Mapping[str, str | int]


@dataclass(frozen=True, kw_only=True)
class Door:
    """What receive works with."""

    sources: Mapping[str, Source]
    secrets: Secrets
    queue: Queue
    keyed: Keyed
    fetcher: Fetcher
    max_body_bytes: int
    telemetry: Telemetry


def receive(request: Request, door: Door) -> Answer:
    """Answer one request; 200 means that every event in it is safe."""
    source = door.sources.get(request.source_name)
    known = source.name if source else None
    try:
        answer = _accept(request, source, door)
    except Refused as refusal:
        door.telemetry.count("RequestsRefused", source=known)
        if isinstance(refusal, VerificationError):
            door.telemetry.count("VerificationFailed", source=known)
        door.telemetry.warn("refused", source=known, status=refusal.status, reason=str(refusal))
        return Answer(status=refusal.status, body={"error": str(refusal)})
    except CannotAccept as failure:
        status = REGISTRY[source.provider].busy_status if source else 503
        door.telemetry.count("RequestsPutOff", source=known)
        if isinstance(failure, SecretUnavailable):
            door.telemetry.count("SecretUnavailable", source=known)
        door.telemetry.warn("put off", source=known, status=status, reason=str(failure))
        return Answer(status=status, body={"error": "cannot accept now, send again"})
    door.telemetry.count("RequestsAccepted", source=known)
    return answer


def _accept(request: Request, source: Source | None, door: Door) -> Answer:
    if source is None or not _takes_requests(source):
        raise UnknownSource("no such source")
    provider = REGISTRY[source.provider]
    # Size comes first: to recognise a probe, too, headers and body are read.
    request.check_headers()
    if len(request.body) > door.max_body_bytes:
        raise TooLarge(f"the body exceeds {door.max_body_bytes} bytes")
    if provider.probe and provider.probe(request):
        return Answer(status=200, body={"events": 0})
    if request.method != "POST":
        raise MethodNotAllowed("events are sent with POST")
    return _enqueue(_verify(request, source, door), provider, door)


def _takes_requests(source: Source) -> bool:
    """Tell whether the source is called over HTTP; one whose events can come straight to the queue must say so."""
    provider = REGISTRY[source.provider]
    return provider.verify is not None and (provider.unwrap is None or source.options.get("http") is True)


def _verify(request: Request, source: Source, door: Door) -> VerifiedRequest:
    known = door.secrets.of(source.name)
    try:
        return _verify_with(known, request, source, door)
    except VerificationError:
        # The secret may just have been rotated.
        renewed = door.secrets.reread(source.name)
        if renewed is None:
            raise
        return _verify_with(renewed, request, source, door)


def _verify_with(secrets: Sequence[str], request: Request, source: Source, door: Door) -> VerifiedRequest:
    provider = REGISTRY[source.provider]
    assert provider.verify is not None
    if provider.certificate_url:
        request = replace(request, certificate=door.fetcher.certificate(provider.certificate_url(request, secrets)))
    return VerifiedRequest(request=request, source=source, proof=provider.verify(request, source, secrets))


def _enqueue(verified: VerifiedRequest, provider: Provider, door: Door) -> Answer:
    confirm_url = provider.confirm_url(verified.request) if provider.confirm_url else None
    if confirm_url:
        door.fetcher.get(confirm_url)
        door.telemetry.say("confirmed", source=verified.source.name)
    key = check_key(provider.key(verified.request)) if provider.key else None
    events = provider.split(verified.request.body, verified.source)
    headers = {name: verified.request.headers[name] for name in provider.headers if name in verified.request.headers}
    claim = key or (provider.claim(verified.request) if provider.claim else None)
    envelopes = seal(verified, events, headers=headers, key=claim)

    def send() -> int:
        door.queue.send(envelopes)
        door.telemetry.count("EventsReceived", len(events), source=verified.source.name)
        return len(events)

    if key is None:
        return Answer(status=200, body={"events": send()})
    status, body = door.keyed.once(f"{verified.source.name}:{key}", hash_body(verified.request.body), send)
    return Answer(status=status, body=body)
