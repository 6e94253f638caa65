"""Write the suppression list: whole as our own CSV, or what a provider takes in as that provider wants it."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from typing import Any, TextIO

from cli.cells import calculates, harmless
from cli.suppression_files import OWN_COLUMNS

Row = Mapping[str, Any]

#: The reasons that say that an address takes no mail.
DEAD = frozenset({"bounced", "dropped", "soft_bounces"})
#: The reasons that are somebody's will.
UNWANTED = frozenset({"unsubscribed", "manual", "other"})


@dataclass(frozen=True, kw_only=True)
class Export:
    """One way to write the list."""

    #: Empty where the provider wants no header.
    header: Sequence[str]
    #: The cells of a row; None where the provider has no place for it.
    cells: Callable[[Row], Sequence[str] | None]


def _own(row: Row) -> Sequence[str]:
    return [harmless(str(row[name] if row[name] is not None else "")) for name in OWN_COLUMNS]


def _sendgrid(row: Row) -> Sequence[str] | None:
    return [row["address"]] if row["scope"] == "" else None


def _ses(row: Row) -> Sequence[str] | None:
    words = {**dict.fromkeys(DEAD, "BOUNCE"), "complained": "COMPLAINT"}
    return [row["address"], words[row["reason"]]] if row["scope"] == "" and row["reason"] in words else None


def _mailgun_bounces(row: Row) -> Sequence[str] | None:
    if row["scope"] or row["reason"] not in DEAD:
        return None
    return [row["address"], "550", harmless(str(row["detail"] or "")), _mail_date(row)]


def _mailgun_complaints(row: Row) -> Sequence[str] | None:
    return [row["address"], _mail_date(row)] if row["scope"] == "" and row["reason"] == "complained" else None


def _mailgun_unsubscribes(row: Row) -> Sequence[str] | None:
    tag = "*" if row["scope"] == "" else row["scope"].removeprefix("tag:")
    if row["reason"] not in UNWANTED or tag == row["scope"]:
        return None
    return [row["address"], tag, _mail_date(row)]


def _mail_date(row: Row) -> str:
    return format_datetime(datetime.fromisoformat(row["last_suppress_at"]))


EXPORTS = {
    "mailfold": Export(header=OWN_COLUMNS, cells=_own),
    # https://www.twilio.com/docs/sendgrid/ui/sending-email/global-unsubscribes: an upload is a list of addresses.
    "sendgrid": Export(header=("email",), cells=_sendgrid),
    # https://docs.aws.amazon.com/ses/latest/dg/sending-email-suppression-list.html: for create-import-job, no header.
    "ses": Export(header=(), cells=_ses),
    # https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/bounces and its neighbours.
    "mailgun-bounces": Export(header=("address", "code", "error", "created_at"), cells=_mailgun_bounces),
    "mailgun-complaints": Export(header=("address", "created_at"), cells=_mailgun_complaints),
    "mailgun-unsubscribes": Export(header=("address", "tags", "created_at"), cells=_mailgun_unsubscribes),
}


class Writer:
    """Writes rows in one format and counts those that have no place in it."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._export = EXPORTS[name]
        self._foreign = name != "mailfold"
        self._csv = csv.writer(file, lineterminator="\n")
        self.written = 0
        self.left_out = 0
        #: Stops that their provider could take, and a spreadsheet must not see.
        self.calculating = 0
        if self._export.header:
            self._csv.writerow(self._export.header)

    def write(self, row: Row) -> None:
        """Write a row; an erased form means nothing to anybody else."""
        erased = self._foreign and row["address"].startswith("erased:")
        cells = None if erased else self._export.cells(row)
        if cells is None:
            self.left_out += 1
            return
        if any(calculates(cell) for cell in cells):
            self.calculating += 1
            return
        self._csv.writerow(cells)
        self.written += 1
