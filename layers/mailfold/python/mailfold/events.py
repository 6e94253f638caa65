"""One normalised fact about one message and one recipient."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

from mailfold.errors import UnparseableEvent

#: A provider's own words for one event, untouched.
Raw = Mapping[str, Any]

_SEPARATOR = "\x1f"
#: In these characters no address can be spelled; equals signs end a base64 text, a number behind them counts envelopes.
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.:/<>+~-]*={0,2}(?::[0-9]+)?")
#: Tells whether an id is stored as it is; asked for each event.
is_plain = _PLAIN_ID.fullmatch
#: The most octets of what an event is found by. An address has 64 octets, an @ and a domain of 255 (RFC 5321); a
#: message id stands in a header, whose lines have at most 998 characters (RFC 5322). Two of them together are a key of
#: an index, in which Postgres takes 2,704 octets.
LONGEST = {"recipient": 320, "event_id": 1_000, "message_id": 1_000, "kind": 1_000, "scope": 1_000}
#: What needs no closer look: so many octets of all fields but the id together, and so many characters of the id, each
#: of which has at most four octets.
_SHORT = min(LONGEST.values())
_SHORT_ID = LONGEST["event_id"] // 4
#: The most characters of a reason, which stands in every answer about its event and, as evidence, in suppressions for
#: ever. As much as a person may give; the payload keeps all of it.
LONGEST_REASON = 1_000
CUT = " … [cut]"
#: What may stand around an address, and where one is: a reason is never cut in the middle of one.
_AROUND = " \t\r\n<>,;()\"'"
_AT_SIGNS = ("@", "%40", "=40", "&#64;")


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

    SUPPRESS = "suppress"
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
    has_own_time: bool = True
    reason: str | None = None
    #: True for a bounce that the message or its sender caused, not the recipient: it says nothing of the address.
    message_fault: bool = False
    #: True where the provider says that a machine opened or clicked.
    machine: bool = False
    raw: Raw
    #: Digest of what the provider said, free of ids and of our mapping, so that a mapping fix makes no conflict.
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        # Written out and not shared with `digest`: this runs for each event, and a call costs as much as a check.
        stated_at = self.occurred_at.isoformat() if self.has_own_time else ""
        words = (self.kind, self.scope, self.message_id or "", self.recipient or "", stated_at)
        stated = _SEPARATOR.join(words).encode("utf-8", "surrogatepass")
        if len(stated) > _SHORT or len(self.event_id) > _SHORT_ID:
            _check_lengths(self)
        # Computed once: a batch looks at it several times. A frozen dataclass can be filled in no other way.
        object.__setattr__(self, "fingerprint", sha256(stated).hexdigest()[:32])
        reason = self.reason
        if reason is not None and len(reason) > LONGEST_REASON:
            object.__setattr__(self, "reason", shortened(reason))


def _check_lengths(event: Event) -> None:
    for name, most in LONGEST.items():
        if len((getattr(event, name) or "").encode("utf-8", "surrogatepass")) > most:
            raise UnparseableEvent(f"{name} is longer than {most} octets")


def shortened(reason: str) -> str:
    """Return the beginning of a long reason with a mark that it was cut; the same reason is always cut alike."""
    end = LONGEST_REASON - len(CUT)
    # Half an address is one that erase cannot find any more.
    start = max(reason.rfind(mark, end - LONGEST["recipient"], end) for mark in _AROUND) + 1
    word = reason[start : end + LONGEST["recipient"]]
    if start and any(sign in word for sign in _AT_SIGNS):
        end = start
    return reason[:end] + CUT


def digest(*parts: str) -> str:
    """Return 128 bits over the parts; the separator keeps ("ab", "c") apart from ("a", "bc")."""
    return sha256(_SEPARATOR.join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def plain_id(text: str) -> str:
    """Return an id as it is stored: behind its first part a digest, where the rest could hold an address.

    An id that held one would have to change when its person is erased, and a redelivery would no longer be known.
    """
    if _PLAIN_ID.fullmatch(text):
        return text
    head, colon, rest = text.partition(":")
    return f"{head}:{digest(rest)}" if colon and _PLAIN_ID.fullmatch(head) else digest(text)
