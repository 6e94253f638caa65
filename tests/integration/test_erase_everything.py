"""erase: of the person nothing stays in any row of any table, and nobody else loses anything."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from mailfold.providers import REGISTRY
from tests.integration.conftest import Store
from tests.support.erasing import NEIGHBOURS, PETRA, SOURCES, Desk, dump, plant, traces
from tests.support.people import events_of, ids_of


@pytest.fixture
def desk(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    desk = Desk(store, monkeypatch)
    yield desk
    desk.close()


def rows_about_others(store: Store) -> dict[str, list[Any]]:
    """Every row of the tables that hold people which does not come from planting the erased person."""
    tables = ("email_events", "message_status", "suppressions", "claims", "dead_letters", "outbox")
    return {
        table: [row for [row] in store.rows(f"select cast(to_jsonb(t) as text) from {table} t order by 1")]
        for table in tables
    }


def test_a_whole_dump_holds_nothing_of_the_person(desk: Desk, store: Store) -> None:
    plant(desk, PETRA)
    assert traces(dump(store), PETRA) >= {
        "address",
        "name",
        "ip",
        "agent",
        "quoted",
        "commented",
        "spelled",
        "percent whole",
    }

    desk.erase(PETRA.address)

    assert traces(dump(store), PETRA) == set()
    assert desk.left(PETRA.address) == {}


def test_rows_of_others_stay_byte_for_byte(desk: Desk, store: Store) -> None:
    for neighbour in NEIGHBOURS:
        plant(desk, neighbour)
    before = rows_about_others(store)
    plant(desk, PETRA)

    desk.erase(PETRA.address)

    after = rows_about_others(store)
    for table, rows in before.items():
        assert len(rows) > 10
        assert set(rows) - set(after[table]) == set(), table


@pytest.mark.parametrize("provider", sorted(SOURCES))
def test_a_redelivery_does_not_bring_the_person_back(desk: Desk, store: Store, provider: str) -> None:
    events = [(kind, raw) for kind, raw in events_of(PETRA, provider)]

    def deliver(attempt: str) -> None:
        for number, (kind, raw) in enumerate(events):
            headers = ids_of(PETRA, tuple(REGISTRY[provider].headers), number)
            body = f"{attempt}{kind}".encode()
            desk.fold(provider, [raw], headers=headers, body=body, key=f"{attempt}key-{PETRA.address}-{number}")

    deliver("")
    desk.erase(PETRA.address)
    counts = {
        table: store.value(f"select count(*) from {table}")
        for table in ("email_events", "message_status", "dead_letters")
    }

    deliver("")
    deliver("again")

    assert traces(dump(store), PETRA) == set()
    assert counts == {table: store.value(f"select count(*) from {table}") for table in counts}
    assert counts["email_events"] > 0


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("İnan@example.com", "İNAN@EXAMPLE.COM"),
        ("straße@example.com", "STRASSE@example.com"),
        ("jös@exämple.com", "JÖS@EXÄMPLE.COM"),
        ("kim@example.com", "\u212aim@example.com"),
        ("sofia@example.com", "\u017fofia@example.com"),
        ("affe@example.com", "aﬀe@example.com"),
        ("σίγμας@example.com", "ΣΊΓΜΑΣ@example.com"),
        ("jös@exämple.com", "jös@xn--exmple-cua.com"),
        ("jo\u0308s@example.com", "j\u00f6s@example.com"),
    ],
)
def test_capitals_and_forms_of_every_alphabet_are_found(desk: Desk, store: Store, address: str, written: str) -> None:
    raw = {"id": "e1", "type": "bounce", "timestamp": "2026-01-02T00:00:00Z"}
    told = {"bounce_type": "Permanent", "reason": f"550 <{written}>", "message_id": "m1"}
    desk.fold("sesmetric", [{**raw, "data": {**told, "recipient": address}}], headers={}, body=b"1")
    other = {**told, "recipient": "bob@elsewhere.org", "copy": [address, written]}
    desk.fold("sesmetric", [{**raw, "id": "e2", "data": other}], headers={}, body=b"2")
    desk.fold("sesmetric", [{"id": None, "about": written}], headers={}, body=b"3")

    desk.erase(address)

    text = dump(store)
    assert [one for one in (address, written, address.lower(), json.dumps(written)[1:-1]) if one in text] == []
    assert desk.left(address) == {}
    assert store.value("select count(*) from email_events where recipient = 'bob@elsewhere.org'") == 1


def test_the_proof_finds_what_erase_does_not_know_of(desk: Desk, store: Store) -> None:
    store.rows("create table notes (note_id bigint primary key, remark varchar(200), more jsonb, lines text[])")
    store.rows("grant select on notes to mailfold_operate")
    spellings = list(PETRA.spellings().values())
    for number, spelling in enumerate(spellings):
        column = ("remark", "more", "lines")[number % 3]
        value = spelling.replace("'", "''")
        kept = {
            "remark": f"'{value}'",
            "more": "'" + json.dumps([spelling]).replace("'", "''") + "'",
            "lines": f"array['{value}']",
        }
        store.rows(f"insert into notes (note_id, {column}) values ({number}, {kept[column]})")

    desk.erase(PETRA.address)

    assert desk.left(PETRA.address) == {"notes": len(spellings)}


def test_encodings_that_hide_the_address_are_told_of_and_not_reached(desk: Desk, store: Store) -> None:
    hidden = base64.b64encode(PETRA.address.encode()).decode()
    raw = {"id": "e1", "type": "open", "timestamp": "2026-01-02T00:00:00Z"}
    data = {"recipient": "bob@elsewhere.org", "message_id": "m1", "link": f"https://x.example/{hidden}"}
    desk.fold("sesmetric", [{**raw, "data": data}], headers={}, body=b"1")

    desk.erase(PETRA.address)

    assert hidden in dump(store)
