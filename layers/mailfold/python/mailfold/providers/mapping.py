"""Events whose shape is configured, not coded: JSON pointers and a table of types in the source's settings."""

from collections.abc import Mapping
from typing import Any

from mailfold.errors import MalformedPayload, SettingsError
from mailfold.events import BounceClass, Event, EventType, Raw
from mailfold.fold import effect_of
from mailfold.jsontext import loads
from mailfold.providers.base import Origin, address_of, as_events, canonical_digest, time_of
from mailfold.request import Source

POINTERS = ("id", "type", "time", "recipient", "message_id", "reason", "scope")


def split_configured(body: bytes, source: Source) -> list[Raw]:
    """Cut a body at the pointer `events` of the source's settings; without one, the body is the event or the array."""
    parsed = loads(body)
    where = source.options.get("events")
    if where is None:
        return as_events(parsed)
    found = look_up(parsed, str(where))
    if found is None:
        raise MalformedPayload("the body has no events where the source's settings point")
    return as_events(found)


def split_keyed(body: bytes, source: Source) -> list[Raw]:
    """Cut a body likewise; its key names one event, and several only where the settings say that they are to be."""
    events = split_configured(body, source)
    if len(events) > 1 and "events" not in source.options:
        raise MalformedPayload("several events under one key, which the source's settings do not announce")
    return events


def parse_configured(
    raw: Raw, origin: Origin, *, provider: str, defaults: Mapping[str, str], native_id: str | None = None
) -> list[Event]:
    """Read one event through the pointers of the source's settings, or the provider's own where it has some."""
    options = origin.source.options
    pointers = {**defaults, **{name: options[name] for name in POINTERS if name in options}}
    read = {name: _text(look_up(raw, str(pointer))) for name, pointer in pointers.items()}
    kind = read.get("type") or "unknown"
    event_type, bounce_class = configured_type(options.get("types"), kind)
    identity = read.get("id") or f"body-{canonical_digest(raw)}"
    if native_id:
        # A request's own id is also its event's, unless it may hold several.
        identity = f"{native_id}:{identity}" if "events" in options else native_id
    stamp = read.get("time")
    return [
        Event(
            # Ids of different senders may be alike, so the source is part of them.
            event_id=f"{provider}:{origin.source.name}:{identity}",
            source=origin.source.name,
            provider=provider,
            kind=kind,
            type=event_type,
            bounce_class=bounce_class,
            effect=effect_of(event_type, bounce_class),
            scope=read.get("scope") or "",
            message_id=read.get("message_id"),
            recipient=address_of(read.get("recipient")),
            occurred_at=time_of(stamp) if stamp else origin.received_at,
            has_own_time=stamp is not None,
            received_at=origin.received_at,
            reason=read.get("reason"),
            raw=raw,
        )
    ]


def check_configured(source: Source, *known: str) -> None:
    """Refuse settings that are misspelt or point nowhere."""
    allowed = {"provider", "types", "events", *POINTERS, *known}
    for name in source.options.keys() - allowed:
        raise SettingsError(f"the source {source.name} has an unknown setting {name!r}; known: {_listed(allowed)}")
    for name in ("events", *POINTERS):
        pointer = source.options.get(name)
        if pointer is not None and not (isinstance(pointer, str) and (pointer == "" or pointer.startswith("/"))):
            raise SettingsError(f"the source {source.name}: {name!r} must be a JSON pointer such as /data/{name}")
    types = source.options.get("types", {})
    for kind, word in types.items() if isinstance(types, Mapping) else [("types", types)]:
        if not isinstance(word, str) or (configured_type({}, word)[0] is EventType.OTHER and word != EventType.OTHER):
            raise SettingsError(f"the source {source.name} translates {kind!r} to {word!r}, which is no type of ours")


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


def configured_type(types: Any, kind: str) -> tuple[EventType, BounceClass | None]:
    """Translate a type with the source's table, whose values read like ``delivered`` or ``bounced/hard``."""
    word = types.get(kind, kind) if isinstance(types, Mapping) else kind
    name, _, bounce_class = str(word).partition("/")
    try:
        event_type = EventType(name)
        if event_type is not EventType.BOUNCED:
            return event_type, None
        return event_type, BounceClass(bounce_class) if bounce_class else BounceClass.UNKNOWN
    except ValueError:
        return EventType.OTHER, None


def look_up(document: Any, pointer: str) -> Any:
    """Follow a JSON pointer (RFC 6901); None where it leads nowhere."""
    for token in pointer.split("/")[1:] if pointer else ():
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping):
            document = document.get(name)
        elif isinstance(document, list) and name.isdecimal() and int(name) < len(document):
            document = document[int(name)]
        else:
            return None
    return document


def _text(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return None
    return str(value)
