"""Erase a person: the address makes room for its erased form, everywhere, and whatever it decided stays decided."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mailfold.errors import CommandRefused
from mailfold.jsontext import dumps
from mailfold.redaction import Redaction
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.operate.erase_rows import Eraser
from mailfold.store.connection import Transaction

#: How long one order goes on before it says where the next one begins; a page more must fit into its function's time.
WORK_MS = 15_000
TIME_GUARD_MS = 30_000
#: A row that changes while it is looked at is looked at again.
ATTEMPTS = 3
#: Of each table: rows looked at, rows that name the address, rows that hold a longer one with it inside, rows changed.
COUNTS = ("looked_at", "found", "similar", "changed")


@dataclass(frozen=True, kw_only=True)
class PersonalTable:
    """A table that may name a person."""

    table: str
    #: How its statements are called.
    name: str
    #: Before the first row of it.
    start: dict[str, Any]
    page_rows: int
    #: Write the rows; return how many.
    write: Callable[[Transaction, str], int]


def _writer(name: str) -> Callable[[Transaction, str], int]:
    def write(tx: Transaction, rows: str) -> int:
        [[written]] = tx.run(f"erase_write_{name}", {"rows": rows})
        return int(written)

    return write


def _write_suppressions(tx: Transaction, rows: str) -> int:
    [[written]] = tx.run("erase_write_suppressions", {"rows": rows})
    tx.run("erase_move_suppressions", {"rows": dumps(written)})
    return len(written)


#: Every table with a text that may come from outside; a test finds whatever is missing here.
PERSONAL_TABLES = (
    # First, and each row at once: there is no moment without the stop.
    PersonalTable(
        table="suppressions",
        name="suppressions",
        start={"address": "", "scope": ""},
        page_rows=20_000,
        write=_write_suppressions,
    ),
    PersonalTable(
        table="message_status",
        name="statuses",
        start={"message_id": "", "recipient": "", "type": "", "bounce_class": ""},
        page_rows=20_000,
        write=_writer("statuses"),
    ),
    PersonalTable(
        table="email_events",
        name="events",
        start={"received_at": "-infinity", "event_id": ""},
        page_rows=2_000,
        write=_writer("events"),
    ),
    # A dead letter may be as large as a queue record.
    PersonalTable(
        table="dead_letters",
        name="dead_letters",
        start={"dead_letter_id": ""},
        page_rows=50,
        write=_writer("dead_letters"),
    ),
    PersonalTable(table="outbox", name="outbox", start={"outbox_id": -1}, page_rows=10_000, write=_writer("outbox")),
    PersonalTable(table="claims", name="claims", start={"claim_key": ""}, page_rows=20_000, write=_writer("claims")),
)
#: Tables whose texts are our own words. The proof looks through them all the same.
WITHOUT_PERSONS = {
    # Its lines are written without addresses (store/audit.py), and cannot be changed.
    "audit_log",
    "daily_totals",
    "status_ranks",
    "schema_migrations",
    "erasure_key",
    "api_tokens",
    # Empty but for the moment of a commit.
    "outbox_staging",
    # Locks.
    "commit_gate",
    "publish_turn",
}


def erase(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Erase an address as far as the time allows; the answer says where to go on."""
    address, place, after = address_of(arguments), *_cursor(arguments.value("after"))
    with context.database.transaction() as tx:
        [[form]] = tx.run("erase_form", {"address": address})
        [[rows]] = tx.run("erase_rows", {"tables": dumps([ground.table for ground in PERSONAL_TABLES])})
        if arguments.value("after") is None:
            context.note(tx, "erase", address=address)
    redaction = Redaction(address, form)
    eraser = Eraser(redaction, context.sources)
    tables: dict[str, dict[str, int]] = {}
    enough_ms = context.remaining_ms() - WORK_MS
    ended = False
    while not ended:
        ground = PERSONAL_TABLES[place]
        after = _page(context, ground, after or ground.start, redaction, eraser, tables)
        place += after is None
        ended = place == len(PERSONAL_TABLES)
        if context.remaining_ms() <= max(enough_ms, TIME_GUARD_MS):
            break
    return {
        "erased_form": form,
        "rows": rows,
        "tables": tables,
        "next": None if ended else {"table": PERSONAL_TABLES[place].table, "after": after},
    }


def address_of(arguments: Arguments) -> str:
    """Return the address of the person who is erased."""
    address = arguments.address()
    if "@" not in address:
        raise CommandRefused("address must be the address itself, not its erased form")
    return address


def _page(
    context: OperateContext,
    ground: PersonalTable,
    after: dict[str, Any],
    redaction: Redaction,
    eraser: Eraser,
    tables: dict[str, dict[str, int]],
) -> dict[str, Any] | None:
    """Work on one page in one transaction; return where the next begins, None after the last."""
    asked: dict[str, str | int] = {"after": dumps(after), "page": ground.page_rows}
    asked |= {"near": redaction.near, "pattern": redaction.pattern}
    counts = tables.setdefault(ground.table, dict.fromkeys(COUNTS, 0))
    for _ in range(ATTEMPTS):
        with context.database.transaction() as tx:
            [[looked_at, last, found]] = tx.run(f"erase_find_{ground.name}", asked)
            changes = [change for text in found if (change := eraser.change(ground.table, text))]
            changed = ground.write(tx, f"[{','.join(change.text for change in changes)}]") if changes else 0
        counts["changed"] += changed
        if changed == len(changes):
            break
    counts["looked_at"] += looked_at
    counts["found"] += len(changes)
    counts["similar"] += len(found) - len(changes)
    return last if looked_at == ground.page_rows else None


def _cursor(value: Any) -> tuple[int, dict[str, Any] | None]:
    if value is None:
        return 0, None
    places = {ground.table: place for place, ground in enumerate(PERSONAL_TABLES)}
    if not isinstance(value, dict) or value.get("table") not in places:
        raise CommandRefused("after must be what the page before called next")
    after = value.get("after")
    return places[value["table"]], after if isinstance(after, dict) else None
