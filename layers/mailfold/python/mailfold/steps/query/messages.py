"""What happened to a message and to an address."""

from typing import Any

from mailfold.errors import NothingFound
from mailfold.jsontext import restore_raw
from mailfold.steps.query.answer import Answer
from mailfold.steps.query.cursors import seal, unseal
from mailfold.steps.query.keeper import Asked
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
    most = RAW_EVENTS if raw else TIMELINE_EVENTS
    statuses = read(asked.tx, "read_message_status", {"message_id": message_id})
    events = read(asked.tx, "read_message_timeline", {"message_id": message_id, "raw": raw, "most": most})
    if not statuses and not events:
        raise NothingFound("nothing is stored about this message")
    timelines: dict[str | None, list[dict[str, Any]]] = {status["recipient"]: [] for status in statuses}
    for event in events:
        if raw:
            event["raw"] = restore_raw(event["raw"])
        timelines.setdefault(event.pop("recipient"), []).append(event)
    known = {status["recipient"]: status for status in statuses}
    recipients = [_recipient(name, known.get(name), timeline) for name, timeline in timelines.items()]
    return Answer(body={"message_id": message_id, "recipients": recipients, "more_events": len(events) == most})


def show_recipient(asked: Asked) -> Answer:
    """Return whether an address may be mailed, why not, and its newest events."""
    address = asked.values["address"]
    suppressions = read(asked.tx, "read_suppressions_of", {"address": address})
    events = read(asked.tx, "read_recipient_events", {"address": address, "most": RECIPIENT_EVENTS})
    return Answer(
        body={
            "address": address,
            "may_be_mailed": not any(row["stopped"] and row["scope"] == "" for row in suppressions),
            "suppressions": suppressions,
            "events": events,
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
        "walk": WALK_FILTERED if status or filters["source"] else max(WALK, 10 * most),
        "most": most,
    }
    if filters["recipient"]:
        order = "occurred_at"
        [page] = read(asked.tx, "page_messages_of", {**parameters, "address": filters["recipient"]})
    else:
        order = "received_at"
        [page] = read(asked.tx, "page_messages", {**parameters, "trouble": status if status in TROUBLE else ""})
    items = page["items"]
    last = None
    if len(items) == most:
        last = [items[-1]["event"][order], items[-1]["event"]["event_id"]]
    elif page["walked"] == parameters["walk"]:
        last = page["last"]
    return Answer(body={"messages": items, "next": last and seal(filters, page["snapshot"], *last)})


def _recipient(name: str | None, status: dict[str, Any] | None, timeline: list[dict[str, Any]]) -> dict[str, Any]:
    found = status or {}
    return {
        "recipient": name,
        "status": found.get("type"),
        "bounce_class": found.get("bounce_class"),
        "since": found.get("first_at"),
        "timeline": timeline,
    }
