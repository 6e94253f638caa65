"""What stays of an event once its person is erased."""

from dataclasses import replace
from typing import Any

from mailfold.events import Event
from mailfold.jsontext import dumps
from mailfold.redaction import Redaction

#: What the name of every erased person begins with.
ERASED = "erased:"
ERASED_REASON = "its person was erased"
#: Stands for all that a provider said: names, IP addresses, links and free fields say who somebody is.
ERASED_RAW: dict[str, Any] = {"erased": True}

#: The same where a text is kept.
ERASED_TEXT = dumps(ERASED_RAW)


def is_erased(raw: object) -> bool:
    """Tell whether this is what stays of a raw."""
    return raw == ERASED_RAW


def erased_event(event: Event, form: str) -> Event:
    """Return an event of an erased person as it is stored, still known by what the provider said."""
    redaction = Redaction(event.recipient or "", form)
    erased = replace(
        event,
        kind=redaction.redact_id(event.kind),
        scope=redaction.redact_id(event.scope, owner=form),
        message_id=event.message_id and redaction.redact_id(event.message_id, owner=form),
        recipient=form,
        reason=None,
        raw=ERASED_RAW,
    )
    # A frozen dataclass can be filled in no other way.
    object.__setattr__(erased, "fingerprint", event.fingerprint)
    return erased
