"""What the answers look like, as JSON schemas; docs/openapi.json is made of these."""

from typing import Any

from mailfold.events import BounceClass, EventType
from mailfold.steps.query.kinds import Schema

#: Everything that can be a status: what has a rank.
STATUSES = (
    "processed",
    "deferred",
    "bounced",
    "delivered",
    "opened",
    "clicked",
    "unsubscribed",
    "dropped",
    "complained",
)
CLASSES = tuple(str(it) for it in BounceClass)
TIME: Schema = {"type": "string", "description": "ISO 8601 with an offset"}
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}


def maybe(schema: Schema) -> Schema:
    """Return a schema that allows null as well."""
    if "enum" in schema:
        return {**schema, "type": [schema["type"], "null"], "enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]}


def thing(**fields: Schema) -> Schema:
    """Return the schema of an object that has all of these fields; more may come with a later version."""
    return {"type": "object", "properties": fields, "required": list(fields)}


def many(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


TYPE: Schema = {"type": "string", "enum": [str(it) for it in EventType]}
STATUS: Schema = maybe({"type": "string", "enum": list(STATUSES)})
CLASS: Schema = maybe({"type": "string", "enum": list(CLASSES)})
NEXT: Schema = {
    "type": ["string", "null"],
    "description": "the cursor of the next page; null at the end. A page may be short, even empty, and not the last.",
}

LEFT_OUT: Schema = {**TEXT, "description": "where raw is null because it does not fit: how to get it"}
EVENT = thing(
    event_id=TEXT,
    source=TEXT,
    provider=TEXT,
    kind=TEXT,
    type=TYPE,
    bounce_class=CLASS,
    occurred_at=TIME,
    reason=maybe(TEXT),
    machine=FLAG,
)
TIMELINE_EVENT: Schema = {
    **EVENT,
    "properties": {
        **EVENT["properties"],
        "received_at": TIME,
        "raw": {"description": "the provider's own words, where they are asked for"},
        "raw_left_out": LEFT_OUT,
    },
}
MESSAGE = thing(
    message_id=TEXT,
    recipients=many(
        thing(
            recipient=maybe(TEXT), status=STATUS, bounce_class=CLASS, since=maybe(TIME), timeline=many(TIMELINE_EVENT)
        )
    ),
    more_events=FLAG,
)
NEWEST_EVENT = thing(
    event_id=TEXT, type=TYPE, bounce_class=CLASS, occurred_at=TIME, received_at=TIME, reason=maybe(TEXT)
)
MESSAGES = thing(
    messages=many(
        thing(
            message_id=TEXT,
            recipient=TEXT,
            status=STATUS,
            bounce_class=CLASS,
            since=maybe(TIME),
            source=TEXT,
            event=NEWEST_EVENT,
        )
    ),
    next=NEXT,
)
RECIPIENT_EVENT: Schema = {**EVENT, "properties": {**EVENT["properties"], "message_id": maybe(TEXT)}}
RECIPIENT = thing(
    address=TEXT,
    may_be_mailed=FLAG,
    suppressions=many(thing(address=TEXT, scope=TEXT, suppressed=FLAG)),
    events=many(RECIPIENT_EVENT),
    more_events=FLAG,
)
SUPPRESSIONS = thing(
    suppressions=many(
        thing(
            address=TEXT,
            scope=TEXT,
            suppressed=FLAG,
            reason=maybe(TEXT),
            since=maybe(TIME),
            last_suppress_at=maybe(TIME),
            last_lift_at=maybe(TIME),
            manual_effect=maybe(TEXT),
            manual_at=maybe(TIME),
            manual_by=maybe(TEXT),
            manual_reason=maybe(TEXT),
            evidence=maybe({"type": "object"}),
        )
    ),
    next=NEXT,
)
CHECKED = thing(
    scope=TEXT,
    results=many(thing(address=TEXT, suppressed=FLAG, reason=maybe(TEXT), since=maybe(TIME), scopes=many(TEXT))),
)
DECIDED = thing(address=TEXT, scope=TEXT, suppressed=FLAG)
TOTALS = thing(
    days=COUNT,
    totals=many(thing(day=TEXT, source=TEXT, type=TYPE, bounce_class=CLASS, events=COUNT)),
    more_days={**FLAG, "description": "older days do not fit into this answer: ask for fewer days"},
)
SERIES = thing(
    step=TEXT, since=TIME, until=TIME, points=many(thing(at=TIME, type=TYPE, bounce_class=CLASS, events=COUNT))
)
STATUS_COUNTS = thing(counts=many(thing(status=STATUS, bounce_class=CLASS, messages=COUNT, more=FLAG)))
WINDOW = thing(sends=COUNT, hard_bounces=COUNT, complaints=COUNT)
NUMBER: Schema = {"type": "number"}
SOURCES = thing(
    sources=many(
        thing(
            source=TEXT,
            provider=maybe(TEXT),
            last_event_at=maybe(TIME),
            quiet=FLAG,
            hour=WINDOW,
            day=WINDOW,
            rates=many(thing(name=TEXT, percent=NUMBER, line=NUMBER, high=FLAG)),
            dead_letters=COUNT,
            more_dead_letters=FLAG,
        )
    )
)
WAITING = thing(
    asked_at=TIME,
    newest_event_at=maybe(TIME),
    oldest_unpublished_at=maybe(TIME),
    oldest_dead_letter_at=maybe(TIME),
    dead_letters=COUNT,
    more_dead_letters=FLAG,
)
LETTER = thing(
    dead_letter_id=TEXT,
    group_id=TEXT,
    kind=TEXT,
    reason=TEXT,
    source=maybe(TEXT),
    provider=maybe(TEXT),
    received_at=TIME,
    created_at=TIME,
    unproven={**FLAG, "description": "it failed an authenticity check: only ids with unproven fold it"},
)
LETTERS = thing(
    groups=many(
        thing(
            group_id=TEXT,
            source=maybe(TEXT),
            kind=TEXT,
            reason=TEXT,
            dead_letters=COUNT,
            unproven=COUNT,
            more=FLAG,
            first_at=TIME,
            last_at=TIME,
            sample=TEXT,
        )
    ),
    dead_letters=many(LETTER),
    next=NEXT,
)
NOT_KEPT: Schema = {**COUNT, "description": "unproven payloads under the same key that were counted and not kept"}
WHOLE_LETTER: Schema = {
    **LETTER,
    "properties": {
        **LETTER["properties"],
        "raw": {**maybe(TEXT), "description": "what was received, where it is asked for"},
        "raw_left_out": LEFT_OUT,
        "headers": {"type": "object"},
        "not_kept": NOT_KEPT,
    },
}
REDRIVEN: Schema = {
    **thing(
        applied=FLAG,
        dead_letters=COUNT,
        new=COUNT,
        duplicate=COUNT,
        conflict=COUNT,
        left=COUNT,
        events=COUNT,
        reasons=many(thing(source=maybe(TEXT), kind=TEXT, reason=TEXT, dead_letters=COUNT)),
        left_out={**COUNT, "description": "dead letters of the choice that are not tried; left_out_reason says why"},
        left_out_reason=maybe(TEXT),
        cursor=maybe(TEXT),
        until=TIME,
    ),
    "description": "what became, or would become, of each dead letter of this page",
}
HEALTH = thing(database=TEXT, schema_version=maybe({"type": "integer"}))
DOCUMENT: Schema = {"type": "object"}
ERROR = thing(error=TEXT)

#: What the document names, so that it says each once.
COMPONENTS: dict[str, dict[str, Any]] = {
    "Message": MESSAGE,
    "Messages": MESSAGES,
    "Recipient": RECIPIENT,
    "Suppressions": SUPPRESSIONS,
    "Checked": CHECKED,
    "Decided": DECIDED,
    "Totals": TOTALS,
    "Series": SERIES,
    "StatusCounts": STATUS_COUNTS,
    "Sources": SOURCES,
    "Waiting": WAITING,
    "DeadLetters": LETTERS,
    "DeadLetter": WHOLE_LETTER,
    "Redriven": REDRIVEN,
    "Health": HEALTH,
    "Document": DOCUMENT,
    "Error": ERROR,
}
