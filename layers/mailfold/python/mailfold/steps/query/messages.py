"""What happened to a message and to an address."""

from shlex import quote
from typing import Any

from mailfold.errors import NothingFound
from mailfold.jsontext import restore_raw
from mailfold.steps.query.answer import Answer
from mailfold.steps.query.cursors import seal, unseal
from mailfold.steps.query.keeper import Asked
from mailfold.steps.query.sizes import READ_BYTES, ROOM_BYTES, fitting, last_of, weight
from mailfold.steps.query.suppressions import of_address
from mailfold.store.connection import Parameter
from mailfold.store.reading import read

#: The events of one message, and fewer where each brings its raw: an answer may be 6 MB.
TIMELINE_EVENTS = 1_000
RAW_EVENTS = 100
RECIPIENT_EVENTS = 100
#: How many events are looked at for one page: without a filter every third or so is a message of its own.
WALK = 1_000
WALK_FILTERED = 5_000
#: The types of the index email_events_trouble; the others are common enough to be found on the way.
TROUBLE = {"deferred", "bounced", "dropped", "complained", "unsubscribed"}
FILTERS = ("recipient", "status", "bounce_class", "source", "since", "until")


def show_message(asked: Asked) -> Answer:
    """Return the status of a message for each recipient, with the events in the order in which they happened."""
    message_id = asked.values["message_id"]
    raw = bool(asked.values.get("raw"))
    statuses = _statuses(asked, message_id)
    events, more = _timeline(asked, message_id, raw=raw)
    if not statuses and not events:
        raise NothingFound("nothing is stored about this message")
    timelines: dict[str | None, list[dict[str, Any]]] = {status["recipient"]: [] for status in statuses}
    for event in events:
        timelines.setdefault(event.pop("recipient"), []).append(event)
    known = {status["recipient"]: status for status in statuses}
    recipients = [_recipient(name, known.get(name), timeline) for name, timeline in timelines.items()]
    return Answer(body={"message_id": message_id, "recipients": recipients, "more_events": more})


def _statuses(asked: Asked, message_id: str) -> list[dict[str, Any]]:
    if asked.token.sources is None:
        return read(asked.tx, "read_message_status", {"message_id": message_id})
    return read(asked.tx, "read_message_status_told", {"message_id": message_id, "sources": asked.sources})


def _timeline(asked: Asked, message_id: str, *, raw: bool) -> tuple[list[dict[str, Any]], bool]:
    """Return the events that an answer has room for, and whether there are more of them."""
    most = RAW_EVENTS if raw else TIMELINE_EVENTS
    bounds: dict[str, Parameter] = {"sources": asked.sources, "most": most, "most_bytes": READ_BYTES}
    events = read(asked.tx, "read_message_timeline", {"message_id": message_id, "raw": raw, **bounds})
    found = max((event.pop("found") for event in events), default=0)
    payloads = [(event.pop("raw", None), event.pop("raw_bytes", 0)) for event in events]
    kept = fitting(events)
    more = found == most or kept < found
    del events[kept:]
    if raw:
        _add_raws(message_id, events, payloads)
    return events, more


def _add_raws(message_id: str, events: list[dict[str, Any]], payloads: list[tuple[Any, int]]) -> None:
    """Give each event its raw, or say how to get it where the answer has no room for it."""
    room = ROOM_BYTES - weight(events)
    for event, (payload, size) in zip(events, payloads, strict=False):
        restored = restore_raw(payload)
        room -= (taken := weight(restored) if restored is not None else 0)
        if restored is None or room < 0:
            room += taken
            # Strangers choose both ids, and a person may paste the line into a shell.
            how = f"bin/mailfold status {quote(message_id)} --event {quote(event['event_id'])} --raw --json"
            event |= {"raw": None, "raw_left_out": f"{size} bytes do not fit into this answer: {how} shows them"}
        else:
            event["raw"] = restored


def show_recipient(asked: Asked) -> Answer:
    """Return whether an address may be mailed, why not, and its newest events."""
    address = asked.values["address"]
    suppressions = of_address(asked, address)
    bounds: dict[str, Parameter] = {"sources": asked.sources, "most": RECIPIENT_EVENTS, "most_bytes": READ_BYTES}
    events = read(asked.tx, "read_recipient_events", {"address": address, **bounds})
    found = max((event.pop("found") for event in events), default=0)
    # The stops are what the question is about.
    del events[fitting(events, ROOM_BYTES - weight(suppressions)) :]
    return Answer(
        body={
            "address": address,
            "may_be_mailed": not any(row["stopped"] and row["scope"] == "" for row in suppressions),
            "suppressions": suppressions,
            "events": events,
            "more_events": found == RECIPIENT_EVENTS or len(events) < found,
        }
    )


def list_messages(asked: Asked) -> Answer:
    """Return a page of messages, the newest first."""
    filters = {name: asked.text(name) for name in FILTERS}
    snapshot, at, event_id = "", "infinity", ""
    if asked.values.get("cursor"):
        snapshot, at, event_id = unseal(asked.values["cursor"], filters, "stx")
    most = asked.values.get("limit") or 50
    status = filters["status"]
    parameters: dict[str, Parameter] = {
        "snapshot": snapshot,
        "at": at,
        "id": event_id,
        "since": filters["since"] or "-infinity",
        "until": filters["until"] or "infinity",
        "source": filters["source"],
        "status": status,
        "bounce_class": filters["bounce_class"],
        "sources": asked.sources,
        "walk": WALK_FILTERED if status or filters["source"] or asked.token.sources else max(WALK, 10 * most),
        "most": most,
        "most_bytes": READ_BYTES,
    }
    name, order, more = "page_messages", "received_at", {"trouble": status if status in TROUBLE else ""}
    if filters["recipient"]:
        name, order, more = "page_messages_of", "occurred_at", {"address": filters["recipient"]}
    [page] = read(asked.tx, name, {**parameters, **more})
    last = page["last"] if page["walked"] == parameters["walk"] else None
    if behind := last_of(page["items"], found=page["found"], most=most):
        last = [behind["event"][order], behind["event"]["event_id"]]
    return Answer(body={"messages": page["items"], "next": last and seal(filters, page["snapshot"], *last)})


def _recipient(name: str | None, status: dict[str, Any] | None, timeline: list[dict[str, Any]]) -> dict[str, Any]:
    found = status or {}
    return {
        "recipient": name,
        "status": found.get("type"),
        "bounce_class": found.get("bounce_class"),
        "since": found.get("first_at"),
        "timeline": timeline,
    }
