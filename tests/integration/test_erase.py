"""erase: no table names the person any more, and whatever the person's events decided stays decided."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from mailfold.redaction import Redaction
from mailfold.steps.operate import erase as step
from mailfold.steps.operate.erase import PERSONAL_TABLES, WITHOUT_PERSONS
from mailfold.steps.operate.erase_rows import Change, Eraser
from mailfold.steps.sweep import sweep
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry
from tests.integration.conftest import Store, Workshop
from tests.support.records import envelope, notification, raw, record
from tests.support.state import state

Order = Callable[..., dict[str, Any]]

ANN = "ann+news@example.com"
#: Others whose addresses hold Ann's, or look like a pattern of it.
OTHERS = ("joann+news@example.com", "x.ann+news@example.com", "annnnews@example.com", "ann+news@example.com.au")

#: Where the full database names Ann; what is not in this list must not name her either.
NAMED = {
    "suppressions.address",
    "suppressions.first_suppress",
    "suppressions.last_suppress",
    "suppressions.manual_reason",
    "message_status.recipient",
    "email_events.event_id",
    "email_events.recipient",
    "email_events.reason",
    "email_events.payload",
    "dead_letters.raw",
    "outbox.key",
    "outbox.body",
    "claims.claim_key",
}


def bounce(event_id: str, recipient: str = ANN, at: str = "2026-01-01T00:00:00Z", **data: Any) -> Any:
    return raw(event_id, "bounce", at=at, bounce_type="Permanent", recipient=recipient, **data)


def erase(order: Order, address: str = ANN, command: str = "erase") -> dict[str, dict[str, int]]:
    """Page through an order to its end; return what it counted."""
    tables: dict[str, dict[str, int]] = {}
    after = None
    while True:
        page = order(command, address=address, after=after)
        for table, counts in page["tables"].items():
            known = tables.setdefault(table, dict.fromkeys(counts, 0))
            tables[table] = {name: known[name] + count for name, count in counts.items()}
        after = page["next"]
        if after is None:
            return tables


def left(order: Order, address: str = ANN) -> int:
    return sum(counts["found"] for counts in erase(order, address, "erase.verify").values())


def places(store: Store, *needles: str) -> list[str]:
    """Every column of every table that holds one of the texts, whatever tables there are."""
    columns = store.rows(
        "select c.table_name, c.column_name from information_schema.columns c join information_schema.tables t"
        " using (table_schema, table_name) where table_schema = 'public' and table_type = 'BASE TABLE'"
    )
    holds = " or ".join(f"position('{needle}' in lower({{column}}::text)) > 0" for needle in needles)
    sql = f"select count(*) from {{table}} where {holds} or lower({{column}}::text) = '{ANN}'"
    return [f"{table}.{column}" for table, column in columns if store.value(sql.format(table=table, column=column))]


@pytest.fixture
def full(store: Store, workshop: Workshop, order: Order) -> Store:
    """A database that names Ann wherever it can."""
    odd = {"note": "a NUL \0, which makes the payload a text", "to": f"Ann <{ANN.upper()}>"}
    told = {"to": [ANN, *OTHERS], "link": f"https://example.com/leave?email={quote(ANN)}", "size": 12345678901}
    others = {"recipient": "bob@example.org", "reason": f"after {ANN}", **told}
    workshop.process(
        record(envelope(raw("o9", **others))),
        record(envelope(bounce("e1", reason=f"550 <{ANN.upper()}> no such user", message_id="m1", **told))),
        record(envelope(*(bounce(f"o{n}", other, reason=f"after {ANN}") for n, other in enumerate(OTHERS)))),
        record(envelope(raw("e2", recipient=ANN), raw("e3", "open", recipient=ANN, **odd))),
        record(envelope({"id": "broken", "about": f"line\n{ANN}"}), record_id="unparseable"),
        record(f'{{"not": "an envelope", "path": "bounce+{ANN.replace("@", "=")}@example.org"'),
        record(envelope({**raw(f"id/{ANN}", recipient=ANN)})),
        record(notification(_ses(ANN, *OTHERS))),
    )
    order("suppressions.add", address=ANN, scope="list:1", reason=f"since {ANN} asked")
    # Ids that hold an address are digests where they come in; one that was stored otherwise is erased as well.
    store.rows(f"update email_events set event_id = 'sesmetric:id/{ANN}' where event_id = 'sesmetric:e2'")
    store.rows(f"insert into claims (claim_key, request_hash, source) values ('main:key:/{ANN}:0', 'h', 'main')")
    return store


def _ses(*recipients: str) -> dict[str, Any]:
    return {
        "eventType": "Bounce",
        "mail": {"messageId": "m9", "timestamp": "2026-01-01T00:00:00Z", "destination": list(recipients)},
        "bounce": {
            "bounceType": "Permanent",
            "bounceSubType": "General",
            "feedbackId": "f1",
            "timestamp": "2026-01-01T00:00:01Z",
            "bouncedRecipients": [{"emailAddress": one, "diagnosticCode": f"no <{ANN}>"} for one in recipients],
        },
    }


def test_no_column_of_any_table_names_the_person(full: Store, order: Order) -> None:
    ways = f"<{ANN}>", f'"{ANN}"', f" {ANN}", f"/{ANN}", f"\\n{ANN}", quote(ANN).lower(), ANN.replace("@", "=")
    before = places(full, *ways)
    foreseen = left(order)

    counted = erase(order)

    assert set(before) == NAMED
    assert foreseen == sum(counts["changed"] for counts in counted.values()) > 10
    assert left(order) == 0
    assert places(full, *ways) == []


def test_whoever_looks_like_the_person_is_left_alone(full: Store, order: Order) -> None:
    sql = (
        "select address, scope, is_suppressed(s) from suppressions s where address not like 'erased:%' and address <> "
    )
    before = full.rows(f"{sql} '{ANN}' order by 1, 2")

    erase(order)

    assert full.rows(f"{sql} '{ANN}' order by 1, 2") == before
    assert {address for address, *_ in before} == set(OTHERS)
    [payload] = full.rows("select payload from email_events where event_id = 'sesmetric:o9'")
    assert payload[0]["data"]["to"][0].startswith("erased:")
    assert payload[0]["data"]["to"][1:] == list(OTHERS)
    assert payload[0]["data"]["size"] == 12345678901


def test_every_table_is_looked_through_or_said_to_name_nobody(store: Store) -> None:
    tables = store.rows(
        "select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'"
    )

    assert {ground.table for ground in PERSONAL_TABLES} | WITHOUT_PERSONS == {table for [table] in tables}


def test_totals_statuses_and_stops_stay_what_they_were(full: Store, order: Order) -> None:
    totals = order("totals", days=3650)
    statuses = full.rows(
        "select message_id, type, bounce_class, first_at, last_at from current_status order by 1, 2, 3, 4"
    )
    stops = full.rows("select scope, since, reason from suppressed order by 1, 2, 3")

    erase(order)

    assert order("totals", days=3650) == totals
    assert stops == full.rows("select scope, since, reason from suppressed order by 1, 2, 3")
    assert statuses == full.rows(
        "select message_id, type, bounce_class, first_at, last_at from current_status order by 1, 2, 3, 4"
    )


def test_the_stop_outlives_the_address(full: Store, order: Order) -> None:
    erase(order)

    shown = order("recipient.show", address=ANN)
    explained = order("suppressions.explain", address=ANN)

    assert not shown["may_be_mailed"]
    assert [(scope["scope"], scope["suppressed"], scope["erased"]) for scope in explained["scopes"]] == [
        ("", True, True),
        ("list:1", True, True),
    ]
    assert explained["scopes"][0]["rule"] == "hard_bounce"
    assert explained["scopes"][1]["manual"]["reason"].startswith("since erased:")
    assert ANN not in json.dumps(explained["scopes"])
    assert (
        full.value(f"select count(*) from suppressed where address in ('{ANN}', erased_form('{ANN}')) and scope = ''")
        == 1
    )


def test_a_redelivery_brings_nothing_back(full: Store, workshop: Workshop, order: Order) -> None:
    again = [
        record(envelope(bounce("e1", reason=f"550 <{ANN.upper()}> no such user", message_id="m1"), body=b"other")),
        record(envelope({"id": "broken", "about": f"line\n{ANN}"}, body=b"another")),
        record(notification(_ses(ANN, *OTHERS), message_id="sns-2")),
    ]
    erase(order)
    before = {table: rows for table, rows in state(full.rows).items() if table != "claims"}

    outcome = workshop.process(*again)

    assert sum(counts.new for counts in outcome.counts) == 0
    assert sum(counts.duplicate for counts in outcome.counts) == 1 + 1 + len(OTHERS)
    assert {table: rows for table, rows in state(full.rows).items() if table != "claims"} == before
    assert left(order) == 0


def test_a_conflict_does_not_bring_the_raw_back(store: Store, workshop: Workshop, order: Order) -> None:
    one, other = bounce("e1"), raw("e1", "complaint", recipient=ANN)
    workshop.process(record(envelope(one)), record(envelope(other)))
    erase(order)
    before = store.rows("select payload from email_events"), store.rows("select raw from dead_letters")

    workshop.process(record(envelope(one, body=b"x")), record(envelope(other, body=b"y")))

    assert (store.rows("select payload from email_events"), store.rows("select raw from dead_letters")) == before
    assert ANN not in json.dumps(before)


def test_a_second_erasure_joins_what_came_since(store: Store, workshop: Workshop, order: Order) -> None:
    workshop.process(record(envelope(bounce("e1"), raw("e2", recipient=ANN))))
    erase(order)
    early, late, lift = "2025-01-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"
    since = (
        bounce("e3", at=early),
        bounce("e4", at=late),
        raw("e5", recipient=ANN, at=late),
        raw("e6", "resubscribe", recipient=ANN, at=lift),
    )
    workshop.process(record(envelope(*since)))
    between = order("recipient.show", address=ANN)["may_be_mailed"]

    erase(order)

    explained = order("suppressions.explain", address=ANN)
    [scope] = explained["scopes"]
    assert not between
    assert explained["may_be_mailed"]
    assert (scope["first_suppress"]["event_id"], scope["last_suppress"]["event_id"]) == ("sesmetric:e3", "sesmetric:e4")
    assert scope["lifted"]["at"].startswith("2026-04-01")
    assert store.rows(
        "select cast(first_at as text) < '2026-02', cast(last_at as text) > '2026-02' from message_status"
        " where type = 'delivered'"
    ) == [[True, True]]
    assert left(order) == 0


def test_an_id_that_holds_the_address_is_erased_and_erased_again(
    store: Store, workshop: Workshop, order: Order
) -> None:
    named = raw(f"id/{ANN}", recipient=ANN)
    ids = []
    for body in (b"1", b"2"):
        workshop.process(record(envelope(named, body=body)))
        erase(order)
        ids.append(store.rows("select event_id from email_events"))

    assert ids[0] == ids[1]
    assert len(ids[0]) == 1
    assert left(order) == 0


def test_a_stop_by_hand_of_an_erased_person_stays_without_the_address(
    store: Store, workshop: Workshop, order: Order
) -> None:
    workshop.process(record(envelope(bounce("e1"))))
    erase(order)

    order("suppressions.lift", address=ANN, reason="mistake")
    lifted = order("recipient.show", address=ANN)["may_be_mailed"]
    order("suppressions.add", address=ANN, reason="no mistake")

    assert lifted
    assert not order("recipient.show", address=ANN)["may_be_mailed"]
    assert left(order) == 0


def test_soft_bounces_of_an_erased_person_still_count(store: Store, workshop: Workshop, order: Order) -> None:
    soft = [
        raw(f"e{n}", "bounce", at=f"2026-01-0{n}T00:00:00Z", bounce_type="Transient", recipient=ANN)
        for n in range(1, 6)
    ]
    workshop.process(record(envelope(*soft)))
    erase(order)

    database = Database(store.url("mailfold_sweep"))
    sweep(database, Telemetry("sweep"), soft_limit=5, publish=True)
    database.close()

    assert not order("recipient.show", address=ANN)["may_be_mailed"]
    assert left(order) == 0


def test_an_announcement_that_waits_still_makes_sense(full: Store, order: Order) -> None:
    form = full.value(f"select erased_form('{ANN}')")

    erase(order)

    waiting = full.rows("select key, body from outbox where published_at is null and topic = 'address_suppressed'")
    assert [form, {"address": form, "scope": ""}] in [
        [key, {"address": body["address"], "scope": body["scope"]}] for key, body in waiting
    ]


def test_a_row_that_is_locked_puts_the_order_off(full: Store, order: Order) -> None:
    other = Database(full.url("mailfold_process"))
    with other.transaction() as tx:
        tx.execute(f"update suppressions set last_suppress_at = last_suppress_at where address = '{ANN}'")
        declined = order("erase", declined=True, address=ANN)
    other.close()

    assert declined["again"] is True
    erase(order)
    assert left(order) == 0


@pytest.mark.parametrize(
    ("column", "change", "kept"),
    [
        (
            "manual_at",
            "update suppressions set last_suppress = '{\"new\": 1}'",
            "suppressions where last_suppress ? 'new'",
        ),
        ("last_at", "update message_status set last_at = '2030-01-01'", "message_status where last_at > '2029-01-01'"),
        ("fingerprint", "update email_events set provider = 'new'", "email_events where provider = 'new'"),
    ],
)
def test_a_row_that_changes_while_it_is_read_is_read_again(
    full: Store, order: Order, monkeypatch: pytest.MonkeyPatch, column: str, change: str, kept: str
) -> None:
    rows = full.value(f"select count(*) from {kept.split()[0]}")
    done: list[Any] = []

    class Interrupted(Eraser):
        def change(self, table: str, text: str) -> Change | None:
            if not done and f'"{column}": ' in text:
                done.append(full.rows(change))
            return super().change(table, text)

    monkeypatch.setattr(step, "Eraser", Interrupted)
    erase(order)

    assert done
    assert full.value(f"select count(*) from {kept}") == rows
    assert left(order) == 0


#: As long as an address may be, of letters and signs that are written in the most ways.
LONG = {
    "dots": ".".join("abcdefghij" * 15) + "@example.com",
    "umlauts": f"{'ü' * 130}@{'ä' * 20}.example",
    "one dead letter for three": "ffi" * 100 + "@example.com",
    "one dead letter for two": "ß" * 64 + f"@{'ss' * 30}.example",
}


@pytest.mark.parametrize(
    "address",
    [
        '"a b"@example.com',
        "jös@exämple.com",
        "a_b%c@example.com",
        "back\\\\slash@x.org",
        *(pytest.param(address, id=name) for name, address in LONG.items()),
    ],
)
def test_postgres_finds_whatever_python_would(store: Store, workshop: Workshop, order: Order, address: str) -> None:
    ways = {"as": address, "json": json.dumps([address, json.dumps(address)]), "link": f"?email={quote(address)}"}
    workshop.process(
        record(envelope(raw("e1", recipient=address, **ways), raw("e2", recipient=address.upper(), nul="\0", **ways))),
        record(json.dumps({"no": "envelope", **ways})),
    )

    erase(order, address)

    redaction = Redaction(address, "gone")
    texts = [
        text
        for ground in PERSONAL_TABLES
        for [text] in store.rows(f"select cast(to_jsonb(t) as text) from {ground.table} t")
    ]
    assert [text for text in texts if redaction.redact(text) != text] == []
    assert len([text for text in texts if "erased:" in text]) >= 4


def test_each_order_does_a_page_at_least_and_says_where_the_next_begins(
    full: Store, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "WORK_MS", 0)
    monkeypatch.setattr(step, "PERSONAL_TABLES", tuple(replace(ground, page_rows=2) for ground in PERSONAL_TABLES))
    rows = sum(full.value(f"select count(*) from {ground.table}") for ground in PERSONAL_TABLES)

    counted = erase(order)

    # What is moved ahead of the cursor is met again.
    assert sum(counts["looked_at"] for counts in counted.values()) >= rows
    assert left(order) == 0


def test_erasing_is_noted_in_the_erased_form(full: Store, order: Order) -> None:
    erase(order)

    assert full.rows(f"select by_whom, subject = erased_form('{ANN}') from audit_log where action = 'erase'") == [
        ["ann", True]
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"address": "erased:00"}, "not its erased form"),
        ({"address": "nobody"}, "address must be an address"),
        ({"address": ANN, "after": {"table": "pg_class"}}, "after must be"),
    ],
)
def test_a_mistake_is_declined(order: Order, arguments: dict[str, Any], sentence: str) -> None:
    assert sentence in order("erase", declined=True, **arguments)["error"]
