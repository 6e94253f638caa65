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
class Response:
    """What the provider is told."""

    status: int
    body: Mapping[str, str | int]


@dataclass(frozen=True, kw_only=True)
class ReceiveContext:
    """What receive works with."""

    sources: Mapping[str, Source]
    secrets: Secrets
    queue: Queue
    keyed: Keyed
    fetcher: Fetcher
    max_body_bytes: int
    telemetry: Telemetry


def receive(request: Request, context: ReceiveContext) -> Response:
    """Answer one request; 200 means that every event in it is safe."""
    source = context.sources.get(request.source_name)
    known = source.name if source else None
    try:
        response = _accept(request, source, context)
    except Refused as refusal:
        context.telemetry.count("RequestsRefused", source=known)
        if isinstance(refusal, VerificationError):
            context.telemetry.count("VerificationFailed", source=known)
        context.telemetry.warn("refused", source=known, status=refusal.status, reason=str(refusal))
        return Response(status=refusal.status, body={"error": str(refusal)})
    except CannotAccept as failure:
        status = REGISTRY[source.provider].busy_status if source else 503
        context.telemetry.count("RequestsDeferred", source=known)
        if isinstance(failure, SecretUnavailable):
            context.telemetry.count("SecretUnavailable", source=known)
        context.telemetry.warn("put off", source=known, status=status, reason=str(failure))
        return Response(status=status, body={"error": "cannot accept now, send again"})
    context.telemetry.count("RequestsAccepted", source=known)
    return response


def _accept(request: Request, source: Source | None, context: ReceiveContext) -> Response:
    if source is None or not _takes_requests(source):
        raise UnknownSource("no such source")
    provider = REGISTRY[source.provider]
    # Size comes first: to recognise a probe, too, headers and body are read.
    request.check_headers()
    if len(request.body) > context.max_body_bytes:
        raise TooLarge(f"the body exceeds {context.max_body_bytes} bytes")
    if provider.probe and provider.probe(request):
        return Response(status=200, body={"events": 0})
    if request.method != "POST":
        raise MethodNotAllowed("events are sent with POST")
    return _enqueue(_verify(request, source, context), provider, context)


def _takes_requests(source: Source) -> bool:
    """Tell whether the source is called over HTTP; one whose events can come straight to the queue must say so."""
    provider = REGISTRY[source.provider]
    return provider.verify is not None and (provider.unwrap is None or source.options.get("http") is True)


def _verify(request: Request, source: Source, context: ReceiveContext) -> VerifiedRequest:
    known = context.secrets.of(source.name)
    try:
        return _verify_with(known, request, source, context)
    except VerificationError:
        # The secret may just have been rotated.
        renewed = context.secrets.reread(source.name)
        if renewed is None:
            raise
        return _verify_with(renewed, request, source, context)


def _verify_with(secrets: Sequence[str], request: Request, source: Source, context: ReceiveContext) -> VerifiedRequest:
    provider = REGISTRY[source.provider]
    assert provider.verify is not None
    if provider.certificate_url:
        request = replace(request, certificate=context.fetcher.certificate(provider.certificate_url(request, secrets)))
    return VerifiedRequest(request=request, source=source, proof=provider.verify(request, source, secrets))


def _enqueue(verified: VerifiedRequest, provider: Provider, context: ReceiveContext) -> Response:
    confirm_url = provider.confirm_url(verified.request) if provider.confirm_url else None
    if confirm_url:
        context.fetcher.get(confirm_url)
        context.telemetry.say("confirmed", source=verified.source.name)
    key = check_key(provider.key(verified.request)) if provider.key else None
    events = provider.split(verified.request.body, verified.source)
    headers = {name: verified.request.headers[name] for name in provider.headers if name in verified.request.headers}
    claim = key or (provider.claim(verified.request) if provider.claim else None)
    envelopes = seal(verified, events, headers=headers, key=claim)

    def send() -> int:
        context.queue.send(envelopes)
        context.telemetry.count("EventsReceived", len(events), source=verified.source.name)
        return len(events)

    if key is None:
        return Response(status=200, body={"events": send()})
    status, body = context.keyed.once(f"{verified.source.name}:{key}", hash_body(verified.request.body), send)
    return Response(status=status, body=body)
