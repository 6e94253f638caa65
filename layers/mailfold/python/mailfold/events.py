"""One normalised fact about one message and one recipient."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

#: A provider's own words for one event, untouched.
Raw = Mapping[str, Any]

#: In these characters no address can be spelled; equals signs end a base64 text, a number behind them counts envelopes.
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.:/<>+~-]*={0,2}(?::[0-9]+)?")


class EventType(StrEnum):
    """What happened, in the words every provider is translated to."""

    PROCESSED = "processed"
    DELIVERED = "delivered"
    DEFERRED = "deferred"
    BOUNCED = "bounced"
    DROPPED = "dropped"
    OPENED = "opened"
    CLICKED = "clicked"
    COMPLAINED = "complained"
    UNSUBSCRIBED = "unsubscribed"
    RESUBSCRIBED = "resubscribed"
    OTHER = "other"


class BounceClass(StrEnum):
    """Whether a bounce condemns the address."""

    HARD = "hard"
    SOFT = "soft"
    UNKNOWN = "unknown"


class Effect(StrEnum):
    """What an event does to the list of stopped addresses."""

    STOP = "stop"
    LIFT = "lift"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One event, ready to be folded."""

    #: ``provider:`` and an id that is the same on every redelivery.
    event_id: str
    source: str
    provider: str
    #: The provider's own word for the event, kept for `other` and for conflicts.
    kind: str
    type: EventType
    bounce_class: BounceClass | None = None
    effect: Effect | None = None
    #: What an effect is limited to, such as ``group:10``; empty means every mail.
    scope: str = ""
    message_id: str | None
    recipient: str | None
    occurred_at: datetime
    received_at: datetime
    #: False where the provider states no time and our clock stands in, which differs on each redelivery.
    dated: bool = True
    reason: str | None = None
    #: True for a bounce that the message or its sender caused, not the recipient: it says nothing of the address.
    blames_message: bool = False
    #: True where the provider says that a machine opened or clicked.
    machine: bool = False
    raw: Raw
    #: Digest of what the provider said, free of ids and of our mapping, so that a mapping fix makes no conflict.
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        stated_at = self.occurred_at.isoformat() if self.dated else ""
        stated = digest(self.kind, self.scope, self.message_id or "", self.recipient or "", stated_at)
        # Computed once: a batch looks at it several times. A frozen dataclass can be filled in no other way.
        object.__setattr__(self, "fingerprint", stated)


def digest(*parts: str) -> str:
    """Return 128 bits over the parts; the separator keeps ("ab", "c") apart from ("a", "bc")."""
    return sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def plain_id(text: str) -> str:
    """Return an id as it is stored: behind its first part a digest, where the rest could hold an address.

    An id that held one would have to change when its person is erased, and a redelivery would no longer be known.
    """
    if _PLAIN_ID.fullmatch(text):
        return text
    head, colon, rest = text.partition(":")
    return f"{head}:{digest(rest)}" if colon and _PLAIN_ID.fullmatch(head) else digest(text)
