"""What happened to a message and to an address."""

from shlex import quote
from typing import Any

from mailfold.errors import NotFound
from mailfold.jsontext import restore_raw
from mailfold.steps.query.context import Call
from mailfold.steps.query.cursors import seal, unseal
from mailfold.steps.query.response import Response
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


def show_message(call: Call) -> Response:
    """Return the status of a message for each recipient, with the events in the order in which they happened."""
    message_id = call.values["message_id"]
    raw = bool(call.values.get("raw"))
    statuses = _statuses(call, message_id)
    events, more = _timeline(call, message_id, raw=raw)
    if not statuses and not events:
        raise NotFound("nothing is stored about this message")
    timelines: dict[str | None, list[dict[str, Any]]] = {status["recipient"]: [] for status in statuses}
    for event in events:
        timelines.setdefault(event.pop("recipient"), []).append(event)
    known = {status["recipient"]: status for status in statuses}
    recipients = [_recipient(name, known.get(name), timeline) for name, timeline in timelines.items()]
    return Response(body={"message_id": message_id, "recipients": recipients, "more_events": more})


def _statuses(call: Call, message_id: str) -> list[dict[str, Any]]:
    if call.token.sources is None:
        return read(call.tx, "read_message_status", {"message_id": message_id})
    return read(call.tx, "read_message_status_told", {"message_id": message_id, "sources": call.sources})


def _timeline(call: Call, message_id: str, *, raw: bool) -> tuple[list[dict[str, Any]], bool]:
    """Return the events that an answer has room for, and whether there are more of them."""
    most = RAW_EVENTS if raw else TIMELINE_EVENTS
    bounds: dict[str, Parameter] = {"sources": call.sources, "most": most, "most_bytes": READ_BYTES}
    events = read(call.tx, "read_message_timeline", {"message_id": message_id, "raw": raw, **bounds})
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


def show_recipient(call: Call) -> Response:
    """Return whether an address may be mailed, why not, and its newest events."""
    address = call.values["address"]
    suppressions = of_address(call, address)
    bounds: dict[str, Parameter] = {"sources": call.sources, "most": RECIPIENT_EVENTS, "most_bytes": READ_BYTES}
    events = read(call.tx, "read_recipient_events", {"address": address, **bounds})
    found = max((event.pop("found") for event in events), default=0)
    # The stops are what the question is about.
    del events[fitting(events, ROOM_BYTES - weight(suppressions)) :]
    return Response(
        body={
            "address": address,
            "may_be_mailed": not any(row["suppressed"] and row["scope"] == "" for row in suppressions),
            "suppressions": suppressions,
            "events": events,
            "more_events": found == RECIPIENT_EVENTS or len(events) < found,
        }
    )


def list_messages(call: Call) -> Response:
    """Return a page of messages, the newest first."""
    filters = {name: call.text(name) for name in FILTERS}
    snapshot, at, event_id = "", "infinity", ""
    if call.values.get("cursor"):
        snapshot, at, event_id = unseal(call.values["cursor"], filters, "stx")
    most = call.values.get("limit") or 50
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
        "sources": call.sources,
        "walk": WALK_FILTERED if status or filters["source"] or call.token.sources else max(WALK, 10 * most),
        "most": most,
        "most_bytes": READ_BYTES,
    }
    name, order, more = "page_messages", "received_at", {"trouble": status if status in TROUBLE else ""}
    if filters["recipient"]:
        name, order, more = "page_messages_of", "occurred_at", {"address": filters["recipient"]}
    [page] = read(call.tx, name, {**parameters, **more})
    last = page["last"] if page["walked"] == parameters["walk"] else None
    if behind := last_of(page["items"], found=page["found"], most=most):
        last = [behind["event"][order], behind["event"]["event_id"]]
    return Response(body={"messages": page["items"], "next": last and seal(filters, page["snapshot"], *last)})


def _recipient(name: str | None, status: dict[str, Any] | None, timeline: list[dict[str, Any]]) -> dict[str, Any]:
    found = status or {}
    return {
        "recipient": name,
        "status": found.get("type"),
        "bounce_class": found.get("bounce_class"),
        "since": found.get("first_at"),
        "timeline": timeline,
    }
