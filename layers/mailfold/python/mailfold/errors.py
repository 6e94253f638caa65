"""Every way Mailfold can fail, and what each failure asks for.

MailfoldError
├── SettingsError           the deployment is wrong: refuse to start
├── Refused                 the request is not accepted; its status says what the provider should do
│   ├── UnknownSource       404
│   ├── MethodNotAllowed    405
│   ├── VerificationError   401
│   ├── MalformedPayload    400
│   ├── TooLarge            413
│   ├── KeyMissing          400
│   └── KeyConflict         409
├── CannotAccept            nothing wrong with the request: the provider must send it again
│   ├── QueueUnavailable
│   ├── SecretUnavailable
│   └── FetchFailed
├── Quarantine              sending it again cannot help: kept in dead letters with its reason
│   ├── NotAnEnvelope       a queue record nobody here can read
│   └── UnparseableEvent    one event that cannot become an Event
│       └── OverBudget      one event that takes longer to read than any event may
├── CommandRefused          a command cannot be carried out; the sentence says why, and nothing was changed
├── ApiError              a question is not answered; the sentence says why, and steps/query has the status of each
│   ├── BadRequest         what was sent is not what the route takes
│   ├── Unauthenticated     no token that is known and still good
│   ├── MissingScope          the token may not do this
│   ├── NotFound        no such route, or nothing is stored under this name
│   ├── WrongMethod         the route has other methods
│   ├── RequestTooLarge    the body is larger than any question needs
│   ├── Outdated            somebody else decided later
│   └── TooManyRequests            ask again later
├── BusUnavailable          nothing is known to be published: the changes wait for the next run
└── StoreError
    ├── TransientStoreError the batch rolls back whole and the queue retries it; never quarantined
    ├── DataRejected        Postgres refuses a value: find the event that carries it
    └── MigrationError      the schema cannot be brought to where the code needs it
"""

from typing import ClassVar


class MailfoldError(Exception):
    """Something Mailfold knows how to answer."""


class SettingsError(MailfoldError):
    """A setting is missing or wrong."""


class Refused(MailfoldError):
    """The request is not accepted."""

    status: ClassVar[int]


class UnknownSource(Refused):
    """No source of this name takes requests."""

    status = 404


class MethodNotAllowed(Refused):
    """Events are sent with POST."""

    status = 405


class VerificationError(Refused):
    """The sender could not be verified; on purpose it never says which part failed."""

    status = 401

    def __init__(self) -> None:
        super().__init__("not verified")


class MalformedPayload(Refused):
    """The sender is genuine but the body is not what this provider sends."""

    status = 400


class TooLarge(Refused):
    """The body, or one event in it, exceeds what the queue can carry."""

    status = 413


class KeyMissing(Refused):
    """The provider promises an idempotency key with each request and sent none."""

    status = 400


class KeyConflict(Refused):
    """The same idempotency key came before with another payload."""

    status = 409


class CannotAccept(MailfoldError):
    """The request cannot be taken now and must be sent again."""


class QueueUnavailable(CannotAccept):
    """Not every envelope of the request is durably queued."""


class SecretUnavailable(CannotAccept):
    """The secret of a source is missing or unreadable, so nobody can be verified."""


class FetchFailed(CannotAccept):
    """The provider's certificate or confirmation link could not be fetched."""


class Quarantine(MailfoldError):
    """The input can never be folded; it is kept with this reason."""

    kind: ClassVar[str]


class NotAnEnvelope(Quarantine):
    """A queue record is neither an envelope nor a notification of a known topic."""

    kind = "not_an_envelope"


class UnparseableEvent(Quarantine):
    """A provider event lacks what makes it an event."""

    kind = "unparseable"


class OverBudget(UnparseableEvent):
    """A provider event takes more processor time than it is worth."""

    kind = "over_budget"


class CommandRefused(MailfoldError):
    """An order cannot be carried out."""


class ApiError(MailfoldError):
    """A question is not answered."""


class BadRequest(ApiError):
    """What was sent is not what the route takes."""


class Unauthenticated(ApiError):
    """The token is missing, unknown, expired or revoked; on purpose it never says which."""

    def __init__(self) -> None:
        super().__init__("a valid token is needed: authorization: Bearer mf_...")


class MissingScope(ApiError):
    """The token may not do this."""


class NotFound(ApiError):
    """No such route, or nothing is stored under this name."""


class WrongMethod(ApiError):
    """The route has other methods."""

    def __init__(self, allowed: str) -> None:
        super().__init__(f"only {allowed} is possible here")
        self.allowed = allowed


class RequestTooLarge(ApiError):
    """The body is larger than any question needs."""


class Outdated(ApiError):
    """Somebody else decided later."""


class TooManyRequests(ApiError):
    """Too many questions, or too many wrong tokens."""

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"too many requests; try again in {wait_s} s")
        self.wait_s = wait_s


class BusUnavailable(MailfoldError):
    """The bus did not answer, so that nothing is known to be published."""


class StoreError(MailfoldError):
    """Postgres did not do what was asked."""


class TransientStoreError(StoreError):
    """The same work may succeed later: connection, deadlock, timeout, shutdown."""


class DataRejected(StoreError):
    """Postgres refuses a value in the statement; nothing of it was written."""


class MigrationError(StoreError):
    """The schema in the database and the migrations in this package disagree."""
