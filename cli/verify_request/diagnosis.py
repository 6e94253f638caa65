"""Why a captured request is not verified: the same checks again, each time with one thing changed.

A check tells nobody which part failed. Whoever holds the secrets can still find out, by trying what would pass. Nothing
here knows a provider by name; a new one is diagnosed like the others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cli.verify_request.reencodings import reencodings
from mailfold.errors import MalformedPayload, Refused, UnparseableEvent, VerificationError
from mailfold.jsontext import loads
from mailfold.keyed import check_key
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin, text_of, time_of
from mailfold.request import Request, Source
from mailfold.secret_forms import fault_of
from mailfold.signatures import Proof

_HEADER_STAMP = re.compile(r"(?<![\w.])\d{10}(?![\w.])")
_BODY_STAMP = re.compile(r'timestamp"?\s*[:=]\s*(?:"([^"]{10,40})"|(\d{10})(?![\w.]))', re.IGNORECASE)
_MOST_STAMPS = 20


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the door would say, and why; it names no secret, no signature and no address."""

    accepted: bool
    words: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """One request, and what its source is configured with."""

    request: Request
    source: Source
    secrets: Sequence[str]

    def proof(self) -> Proof | None:
        """Return the proof, or None if there is none."""
        provider = REGISTRY[self.source.provider]
        assert provider.verify
        try:
            if provider.certificate_url:
                provider.certificate_url(self.request, self.secrets)
            return provider.verify(self.request, self.source, self.secrets)
        except VerificationError:
            return None

    def with_request(self, **changes: Any) -> "Case":
        """Return the case with another request."""
        return replace(self, request=replace(self.request, **changes))


def diagnose(request: Request, source: Source, secrets: Sequence[str]) -> Finding:
    """Say whether the door would accept the request, and if not, what is wrong with it."""
    provider = REGISTRY[source.provider]
    if provider.verify is None or (provider.unwrap and source.options.get("http") is not True):
        return _refused("the source takes no requests; its settings would have to say `http`")
    if provider.probe and provider.probe(request):
        return Finding(accepted=True, words="a call that only asks whether anybody is there: answered, and not read")
    faults = {secret: fault for secret in secrets if (fault := fault_of(secret, provider.secret_form))}
    case = Case(request=request, source=source, secrets=[secret for secret in secrets if secret not in faults])
    proof = case.proof() if case.secrets else None
    if proof:
        return _read(case, proof)
    checks = (
        _unused(case, faults),
        _missing(case),
        _certified(case),
        _stale(case),
        _configured(case),
        _reencoded(case),
    )
    return next((finding for finding in checks if finding), _wrong_key(case))


def _refused(words: str) -> Finding:
    return Finding(accepted=False, words=words)


def _read(case: Case, proof: Proof) -> Finding:
    """Go on as the door does with a request that is proven, and as parse does with its events."""
    provider = REGISTRY[case.source.provider]
    try:
        if provider.confirm_url and provider.confirm_url(case.request):
            return Finding(accepted=True, words=f"verified ({proof.scheme}); it asks to confirm a subscription")
        if provider.key:
            check_key(provider.key(case.request))
        events = provider.split(case.request.body, case.source)
    except Refused as refusal:
        return _refused(f"verified ({proof.scheme}), but answered {refusal.status}: {refusal}")
    origin = Origin(source=case.source, received_at=case.request.received_at, headers=case.request.headers)
    aside = []
    for raw in events:
        try:
            provider.parse(raw, origin)
        except UnparseableEvent as reason:
            aside.append(str(reason))
    words = f"verified ({proof.scheme}); {len(events)} event{'s' * (len(events) != 1)}"
    return Finding(
        accepted=True, words=f"{words}, of which {len(aside)} would be set aside: {aside[0]}" if aside else words
    )


class _Watched(Mapping[str, Any]):
    """A mapping that remembers which names it was asked for in vain, since the last that it knew."""

    def __init__(self, values: Mapping[str, Any], misses: list[str]) -> None:
        self._values = values
        self._misses = misses

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return bool(self.get(str(name)))

    def get(self, name: str, default: Any = None) -> Any:
        value = self._values.get(name, default)
        if value:
            self._misses.clear()
        elif name not in self._misses:
            self._misses.append(name)
        return value


def _unused(case: Case, faults: Mapping[str, str]) -> Finding | None:
    """Tell of a secret that the door does not use, if it is the one that the request needs or there is no other."""
    for secret, fault in faults.items():
        if not case.secrets or replace(case, secrets=[secret.strip()]).proof():
            return _refused(f"a secret {fault}")
    return None


def _missing(case: Case) -> Finding | None:
    misses: list[str] = []
    case.with_request(headers=_Watched(case.request.headers, misses)).proof()
    return _refused(f"no such header, or an empty one: {', '.join(misses)}") if misses else None


def _certified(case: Case) -> Finding | None:
    """Tell what only senders with a certificate can get wrong: their topic, where it lies, and what headers repeat."""
    provider = REGISTRY[case.source.provider]
    if not provider.certificate_url:
        return None
    try:
        body = loads(case.request.body)
    except MalformedPayload:
        body = None
    if not isinstance(body, dict) or not text_of(body, "TopicArn"):
        return _refused("the body is no notification; raw delivery carries no proof")
    if text_of(body, "TopicArn") not in case.secrets:
        return _refused(f"the topic is none of the {len(case.secrets)} that the source admits")
    try:
        url = provider.certificate_url(case.request, case.secrets)
    except VerificationError:
        return _refused("the certificate is said to lie elsewhere than at the SNS of the topic's own region")
    if not case.request.certificate:
        return _refused(f"only the certificate can tell: give the one at {url}")
    repeated = {"x-amz-sns-message-type": text_of(body, "Type"), "x-amz-sns-message-id": text_of(body, "MessageId")}
    agreeing = case.with_request(headers={**case.request.headers, **repeated})
    return _refused("headers and body disagree on the type or the id") if agreeing.proof() else None


def _stale(case: Case) -> Finding | None:
    for stamp in _stamps(case.request):
        if case.with_request(received_at=stamp).proof():
            late = (case.request.received_at - stamp).total_seconds()
            direction = "older" if late > 0 else "newer"
            words = (
                f"stale: the stamp is {abs(late):.0f} s {direction} than the request, and {_tolerance(case, stamp)} s"
            )
            return _refused(f"{words} are allowed")
    return None


def _tolerance(case: Case, stamp: datetime) -> int:
    """Return how many seconds are allowed, found by trying."""
    passes, fails = 0, int(abs((case.request.received_at - stamp).total_seconds())) + 1
    while fails - passes > 1:
        middle = (passes + fails) // 2
        if case.with_request(received_at=stamp + timedelta(seconds=middle)).proof():
            passes = middle
        else:
            fails = middle
    return passes


def _stamps(request: Request) -> list[datetime]:
    """Return whatever looks like the time at which the request was sent, in its headers or its body."""
    found = [stamp for value in request.headers.values() for stamp in _HEADER_STAMP.findall(value)]
    found += [iso or digits for iso, digits in _BODY_STAMP.findall(request.body.decode("latin-1"))]
    stamps = []
    for text in dict.fromkeys(found[:_MOST_STAMPS]):
        try:
            stamps.append(time_of(text).astimezone(UTC))
        except UnparseableEvent:
            continue
    return stamps


def _moments(case: Case) -> list[Case]:
    """Return the case as it came and as if it had come when it was stamped, so that one fault does not hide another."""
    return [case, *(case.with_request(received_at=stamp) for stamp in _stamps(case.request))]


def _configured(case: Case) -> Finding | None:
    for moment in _moments(case):
        for name in case.source.options:
            options = {key: value for key, value in case.source.options.items() if key != name}
            if replace(moment, source=replace(case.source, options=options)).proof():
                return _refused(f"it verifies without the setting `{name}`")
    return None


def _reencoded(case: Case) -> Finding | None:
    for moment in _moments(case):
        for name, body in reencodings(case.request.body):
            if moment.with_request(body=body).proof():
                return _refused(f"the body is not the one that was signed: it verifies {name}")
    return None


def _wrong_key(case: Case) -> Finding:
    tried = sum(1 for _ in reencodings(case.request.body))
    return _refused(
        f"wrong key, or another body: none of {len(case.secrets)} secrets matches, "
        f"neither for the body as it is nor for {tried} other ways to encode it"
    )
