"""The suppression lists that providers export, as tables: how each is recognised, and what it means."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class SuppressionFile:
    """One kind of file. Columns are written without capitals, spaces and underscores."""

    name: str
    #: All of these, and none beside the optional ones: a list of customers must never pass for a list of stops.
    columns: frozenset[str]
    optional: frozenset[str] = frozenset()
    address: str
    #: The first of these that is filled.
    times: tuple[str, ...]
    #: Why, where all rows have the same reason.
    reason: str | None = None
    #: Or the column that says so, and its words in capitals.
    reason_column: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)
    detail: str = ""
    #: The column that limits a stop, and what our scopes call that; a star in it means every mail.
    scope_column: str = ""
    scope_prefix: str = ""
    #: Why such a file is not imported.
    refusal: str | None = None


def _columns(names: str) -> frozenset[str]:
    return frozenset(names.split())


#: The columns of our own export.
OWN_COLUMNS = ("address", "scope", "reason", "since", "last_suppress_at", "detail")

OWN = SuppressionFile(
    name="mailfold",
    columns=_columns("address scope reason since lastsuppressat detail"),
    address="address",
    times=("lastsuppressat", "since"),
    reason_column="reason",
    reasons={
        "BOUNCED": "bounce",
        "COMPLAINED": "complaint",
        "UNSUBSCRIBED": "unsubscribe",
        "DROPPED": "listed",
        "OTHER": "listed",
        "SOFT_BOUNCES": "soft_bounces",
        "MANUAL": "manual",
    },
    detail="detail",
    scope_column="scope",
)

# https://www.twilio.com/docs/sendgrid/api-reference/bounces-api and its neighbours: the CSV files have the same fields.
SENDGRID = (
    SuppressionFile(
        name="sendgrid-bounces",
        columns=_columns("status reason email created"),
        address="email",
        times=("created",),
        reason="bounce",
        detail="reason",
    ),
    SuppressionFile(
        name="sendgrid-blocks",
        columns=_columns("status reason email created"),
        address="email",
        times=("created",),
        # https://www.twilio.com/docs/sendgrid/ui/sending-email/blocks
        refusal="a block stops nobody: SendGrid goes on mailing the address, the message or its sender was refused",
    ),
    SuppressionFile(
        name="sendgrid-spam-reports",
        columns=_columns("ip email created"),
        address="email",
        times=("created",),
        reason="complaint",
    ),
    SuppressionFile(
        name="sendgrid-invalid-emails",
        columns=_columns("reason email created"),
        address="email",
        times=("created",),
        reason="listed",
        detail="reason",
    ),
    SuppressionFile(
        name="sendgrid-unsubscribes",
        columns=_columns("email created"),
        address="email",
        times=("created",),
        reason="unsubscribe",
    ),
    SuppressionFile(
        name="sendgrid-group-unsubscribes",
        columns=_columns("email groupid createdat"),
        optional=_columns("groupname"),
        address="email",
        times=("createdat",),
        reason="unsubscribe",
        scope_column="groupid",
        scope_prefix="group:",
    ),
)

# https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SuppressedDestinationSummary.html
SES = SuppressionFile(
    name="ses",
    columns=_columns("emailaddress reason lastupdatetime"),
    address="emailaddress",
    times=("lastupdatetime",),
    reason_column="reason",
    reasons={"BOUNCE": "bounce", "COMPLAINT": "complaint"},
)

# https://postmarkapp.com/developer/api/suppressions-api; a dump is of one stream and does not name it: --scope does.
POSTMARK = SuppressionFile(
    name="postmark",
    columns=_columns("emailaddress suppressionreason origin createdat"),
    optional=_columns("messagestream"),
    address="emailaddress",
    times=("createdat",),
    reason_column="suppressionreason",
    reasons={"HARDBOUNCE": "bounce", "SPAMCOMPLAINT": "complaint", "MANUALSUPPRESSION": "unsubscribe"},
    detail="origin",
    scope_column="messagestream",
    scope_prefix="stream:",
)

# https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/bounces and its neighbours.
MAILGUN = (
    SuppressionFile(
        name="mailgun-bounces",
        columns=_columns("address code error createdat"),
        optional=_columns("messagehash"),
        address="address",
        times=("createdat",),
        reason="bounce",
        detail="error",
    ),
    SuppressionFile(
        name="mailgun-complaints",
        columns=_columns("address createdat"),
        optional=_columns("count"),
        address="address",
        times=("createdat",),
        reason="complaint",
    ),
    SuppressionFile(
        name="mailgun-unsubscribes",
        columns=_columns("address tags createdat"),
        optional=_columns("id"),
        address="address",
        times=("createdat",),
        reason="unsubscribe",
        scope_column="tags",
        scope_prefix="tag:",
    ),
)

STOP_LISTS = {kind.name: kind for kind in (OWN, *SENDGRID, SES, POSTMARK, *MAILGUN)}


def candidates(columns: frozenset[str]) -> list[SuppressionFile]:
    """Return the kinds of file that have these columns."""
    return [kind for kind in STOP_LISTS.values() if kind.columns <= columns <= kind.columns | kind.optional]
