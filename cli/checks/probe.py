"""A signed probe of every source: through the door to the row, found there, and taken out again."""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import uuid4

from cli.checks.door import call
from cli.checks.examination import Examination, Finding, NotChecked, Note, Said, Skipped
from cli.secrets import usable_of
from cli.vault import Vault
from mailfold.errors import MailfoldError
from mailfold.events import Event, EventType
from mailfold.probe import PROBE_ADDRESS
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.request import Request, Source
from mailfold.signatures import CREDENTIALS
from samples import Keys, Raw, sampler, signed

#: A cold start of each function on the way, and time to spare.
WAIT_SECONDS = 60.0
PAUSE_SECONDS = 0.25
#: How many random events are tried until one is harmless: a sampler makes every kind that its provider knows.
TRIES = 200


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One request as the provider would send it."""

    source: str
    marker: str
    body: bytes
    headers: Mapping[str, str]


def check_probe(exam: Examination) -> Iterator[Said]:
    """Send one probe for each source, wait for the rows, and leave nothing behind."""
    waiting: dict[str, str] = {}
    try:
        for name, options in exam.sources.items():
            said = _send(exam, Source(name=name, provider=options["provider"], options=options), waiting)
            if said:
                yield said
        began = time.monotonic()
        missing = _await(exam, waiting)
        if missing:
            yield Finding(
                what=f"accepted, but no row after {WAIT_SECONDS:.0f} s: the probe of {', '.join(missing)}",
                fix="look at the findings above, then into the log of process and the age of the queue",
            )
        arrived = len(waiting) - len(missing)
        yield Note(text=f"{arrived} of {len(waiting)} probes became rows within {time.monotonic() - began:.1f} s")
    finally:
        if waiting:
            exam.place.order("doctor.probe.remove", markers=list(waiting))


def _send(exam: Examination, source: Source, waiting: dict[str, str]) -> Said | None:
    marker = f"doctor-{uuid4().hex}"
    try:
        if REGISTRY[source.provider].unwrap:
            _publish(exam, source, marker, waiting)
            return None
        probe = make_probe(exam, source, marker)
        # Before it is sent, so that it is taken out however this goes on.
        waiting[marker] = source.name
        status = call(f"{exam.place.base_url}/webhooks/{source.name}", "POST", probe.body, probe.headers)
    except NotChecked as exc:
        waiting.pop(marker, None)
        return Skipped(why=f"{source.name}: {exc}")
    if status == 200:
        return None
    del waiting[marker]
    fix = "read the log of receive, which has the reason"
    if status == 401:
        fix = "if the secret was changed within 5 minutes, wait; otherwise restart receive by make deploy"
    return Finding(what=f"the signed probe of {source.name} is answered {status}", fix=fix)


def _publish(exam: Examination, source: Source, marker: str, waiting: dict[str, str]) -> None:
    """Send the probe of a source that a topic feeds, whether or not it may also come through the door."""
    event = json.dumps(_event(source, marker))
    waiting[marker] = source.name
    if exam.ask("sns", "publish", TopicArn=exam.place.output("TopicArn"), Message=event) is None:
        raise NotChecked("the topic is not there")


def make_probe(exam: Examination, source: Source, marker: str) -> Probe:
    """Sign a harmless event as the provider would, and make sure here that it verifies."""
    version = Vault(exam.place.aws("secretsmanager"), exam.place.output("SecretArn")).read()
    held = usable_of(source.name, source.provider, version)
    if not held:
        raise NotChecked("it has no secret that can be used")
    sending = sampler(source.provider)
    body, at = sending.body([_event(source, marker)]), datetime.now(UTC)
    if held[0].startswith(CREDENTIALS):
        headers = {"Content-Type": "application/json", **_credential(held[0])}
    else:
        try:
            body, headers = signed(sending, body, Keys(secret=held[0], signer=_signer(exam, source, held[0])), at)
        except (ValueError, AssertionError):
            raise NotChecked("only the provider can sign") from None
    if not _verifies(source, body, headers, held, at):
        raise NotChecked("only the provider can sign, or its settings are none that a probe can follow")
    return Probe(source=source.name, marker=marker, body=body, headers=headers)


def _signer(exam: Examination, source: Source, secret: str) -> str:
    """Return what to sign with: a shared secret itself, or the private half that only a local stack has."""
    known = exam.place.local.sources.get(source.name) if exam.place.local else None
    return known.signer if known and known.signer and known.secret == secret else secret


def _credential(secret: str) -> dict[str, str]:
    scheme, _, rest = secret.partition(":")
    if scheme == "header":
        name, _, value = rest.partition(":")
        return {name.strip(): value.strip()}
    given = base64.b64encode(rest.encode()).decode() if scheme == "basic" else rest
    return {"Authorization": f"{scheme.capitalize()} {given}"}


def _verifies(source: Source, body: bytes, headers: Mapping[str, str], held: list[str], at: datetime) -> bool:
    provider = REGISTRY[source.provider]
    assert provider.verify
    lowered = {name.lower(): value for name, value in headers.items()}
    request = Request(source_name=source.name, method="POST", headers=lowered, body=body, received_at=at)
    try:
        provider.verify(request, source, held)
        return bool(provider.split(body, source))
    except MailfoldError:
        return False


def _event(source: Source, marker: str) -> Raw:
    """Make an event that stops nobody, delivered to the address that nobody has."""
    generate = sampler(source.provider).generate
    kept: Raw | None = None
    for seed in range(TRIES):
        # Not to keep a secret, but to meet every kind of event before long.
        made: Raw = _readdressed(generate(Random(seed), marker, datetime.now(UTC)))  # noqa: S311
        event = _parsed(source, made)
        if event and event.effect is None and event.recipient == PROBE_ADDRESS:
            if event.type is EventType.DELIVERED:
                return made
            kept = kept or made
    if kept is None:
        raise NotChecked("its settings are none that a probe can follow")
    return kept


def _readdressed(value: Any) -> Any:
    """Put the probe's address wherever the sampler has put one of its own."""
    if isinstance(value, dict):
        return {name: _readdressed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_readdressed(item) for item in value]
    return PROBE_ADDRESS if isinstance(value, str) and value.lower().endswith("@example.com") else value


def _parsed(source: Source, raw: Raw) -> Event | None:
    provider = REGISTRY[source.provider]
    # Some read their id from a header; which one it will be does not matter here.
    headers = dict.fromkeys(provider.headers, "probe")
    try:
        [event] = provider.parse(raw, Origin(source=source, received_at=datetime.now(UTC), headers=headers))
    except (MailfoldError, ValueError):
        return None
    return event


def _await(exam: Examination, waiting: Mapping[str, str]) -> list[str]:
    """Return the sources whose probe has not become a row in time."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        answer = exam.place.order("doctor.probe.find", markers=list(waiting)) if waiting else {"probes": []}
        found = {probe["marker"] for probe in answer["probes"]}
        missing = [source for marker, source in waiting.items() if marker not in found]
        if not missing or time.monotonic() > deadline:
            return missing
        time.sleep(PAUSE_SECONDS)
