"""erase: of the person nothing stays in any row of any table, and nobody else loses anything."""

import base64
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import pytest

from local.binaries import find_binaries
from local.samples import sampler
from mailfold.envelope import seal
from mailfold.events import digest
from mailfold.providers import REGISTRY
from mailfold.queue import Record
from mailfold.request import Source
from mailfold.steps.process import Bench, process
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry
from tests.integration.conftest import Store
from tests.support.handlers import Context, load_handler
from tests.support.people import Person, events_of, ids_of
from tests.support.proofs import NOW, verified_request

Order = Callable[..., dict[str, Any]]

PETRA = Person(
    address="petra.quast@kunde.example",
    name="Petra Quastenflosser",
    ip="203.0.113.77",
    agent="QuastBrowser/9.81 (Petra)",
)
#: Their addresses hold hers.
NEIGHBOURS = [
    Person(address=address, name=f"Somebody {number}", ip=f"198.51.100.{number}", agent=f"Other/{number}")
    for number, address in enumerate(
        ("xpetra.quast@kunde.example", "dr.petra.quast@kunde.example", "petra.quast@kunde.example.org"), 1
    )
]
SOURCES = {
    name: Source(name=name, provider=name, options=dict(sampler(name).OPTIONS)) for name in sorted(REGISTRY)
}


class Desk:
    """process and operate with a source of each provider."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = store
        self.database = Database(store.url("mailfold_process"))
        settings = {name: {"provider": name, **source.options} for name, source in SOURCES.items()}
        environment = {
            "SOURCES": json.dumps(settings),
            "TOPICS": "{}",
            "DATABASE_URL": store.url("mailfold_operate"),
            "PUBLISH": "true",
            "SOFT_LIMIT": "5",
            "RETENTION": "{}",
        }
        self.operate = load_handler("operate", monkeypatch, environment)
        self.records = 0

    def fold(self, provider: str, events: list[Any], *, headers: dict[str, str], body: bytes, key: str = "") -> None:
        """Fold the events of one request."""
        verified = verified_request(body, source=Source(name=provider, provider=provider), at=NOW)
        texts = [one.text for one in seal(verified, events, headers=headers, key=key or None)]
        self.process(*texts)

    def process(self, *texts: str) -> None:
        bench = Bench(
            database=self.database,
            sources=SOURCES,
            topics={},
            publish=True,
            remaining_ms=lambda: 60_000,
            telemetry=Telemetry("process"),
        )
        records = []
        for text in texts:
            self.records += 1
            records.append(
                Record(
                    record_id=f"r{self.records}", body=text, receive_count=1, sent_at=datetime(2026, 1, 1, tzinfo=UTC)
                )
            )
        assert process(records, bench).failed == []

    def order(self, command: str, **arguments: Any) -> dict[str, Any]:
        answer = self.operate.handler({"command": command, "arguments": arguments, "by": "operator"}, Context())
        assert answer["ok"], answer
        return dict(answer["result"])

    def erase(self, address: str) -> None:
        self.pages("erase", address)

    def pages(self, command: str, address: str) -> dict[str, dict[str, int]]:
        tables: dict[str, dict[str, int]] = {}
        after = None
        while True:
            page = self.order(command, address=address, after=after)
            for table, counts in page["tables"].items():
                known = tables.setdefault(table, dict.fromkeys(counts, 0))
                tables[table] = {name: known[name] + count for name, count in counts.items()}
            after = page["next"]
            if after is None:
                return tables

    def left(self, address: str) -> dict[str, int]:
        """What the proof says of each table where it finds anything."""
        return {name: counts["found"] for name, counts in self.pages("erase.verify", address).items() if counts["found"]}


@pytest.fixture
def desk(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    desk = Desk(store, monkeypatch)
    yield desk
    desk.operate.database.close()
    desk.database.close()


def dump(store: Store) -> str:
    """The whole database as pg_dump writes it, or else each row of each table that the catalogs know."""
    program = find_binaries() / "pg_dump"
    if program.exists():
        done = subprocess.run(
            [program, "--data-only", "--no-owner", store.url("postgres")], capture_output=True, text=True
        )
        if done.returncode == 0:
            return done.stdout
    tables = store.rows("select tablename from pg_tables where schemaname = 'public'")
    rows = (row for [table] in tables for row in store.rows(f"select cast(t as text) from {table} t"))
    return "\n".join(str(row[0]) for row in rows)


def traces(text: str, person: Person) -> set[str]:
    """What a search of the test's own finds of a person, whatever stands around it."""
    # The addresses of the neighbours hold the person's.
    for neighbour in NEIGHBOURS:
        if neighbour is not person:
            for spelling in neighbour.spellings().values():
                text = text.replace(spelling, "(neighbour)").replace(json.dumps(spelling)[1:-1], "(neighbour)")
            text = text.replace(neighbour.address, "(neighbour)")
    found = {name for name in ("name", "ip", "agent") if getattr(person, name) in text}
    for name, spelling in person.spellings().items():
        written = {spelling, json.dumps(spelling)[1:-1], spelling.replace("\\", "\\\\"), spelling.replace('"', '\\"')}
        found |= {name for one in written if one.lower() in text.lower()}
    plain = unquote(unquote(text)).lower()
    if person.address.lower() in plain or person.address.replace("@", "=").lower() in plain:
        found.add("address")
    local = person.address.split("@")[0].lower()
    if re.search(rf"{re.escape(local)}.{{0,12}}{re.escape(person.address.split('@')[1])}", plain):
        found.add("local part and domain")
    return found


def plant(desk: Desk, person: Person) -> None:
    """Let every provider tell of a person, and everything else happen that leaves a row."""
    number = 0
    for provider in SOURCES:
        for kind, raw in events_of(person, provider):
            number += 1
            headers = ids_of(person, tuple(REGISTRY[provider].headers), number)
            body = f"{person.address}{provider}{kind}".encode()
            desk.fold(provider, [raw], headers=headers, body=body, key=f"key-{person.address}-{number}")
    for place, spelling in enumerate(person.spellings().values()):
        told = {"bounce_type": "Permanent", "reason": f"550 5.1.1 {spelling} unknown, {person.name} at {person.ip}"}
        data = {"message_id": f"spelled-{digest(person.address)}-{place}", "recipient": person.address, **told}
        raw = {"id": f"spelled-{digest(person.address)}-{place}", "type": "bounce", "timestamp": "2026-01-02T00:00:00Z", "data": data}
        desk.fold("sesmetric", [raw], headers={}, body=f"s{spelling}".encode())
        letter = {"id": None, "about": spelling, "name": person.name, "ip": person.ip, "agent": person.agent}
        desk.fold("sesmetric", [letter], headers={"x-id": f"h-{person.address}"}, body=f"l{spelling}".encode())
    complaint = {**raw, "type": "complaint"}
    desk.fold("sesmetric", [complaint], headers={}, body=f"conflict {person.address}".encode())
    token = f"token:tok-{person.address}"
    for order in ("1", "2"):
        mail = {"recipient": person.address, "event": "opened", "timestamp": 1767225602, "ip": person.ip}
        body = f"{person.address}{order}".encode()
        desk.fold("mailgun", [{**mail, "id": f"mg-{digest(person.address)}-{order}"}], headers={}, body=body, key=token)
    desk.process(json.dumps({"no": "envelope", "to": person.details["header"], "ip": person.ip, "ua": person.agent}))
    desk.order("suppressions.add", address=person.address, scope=f"list:{person.address}", reason="asked")
    desk.order("suppressions.add", address=person.address, scope="list:1", reason=f"{person.address} asked")
    desk.order("suppressions.lift", address=person.address, scope="list:1", reason=f"<{person.address}> asked again")


NOT_NAMED = "not_about_anyone@elsewhere.example"


def rows_about_others(store: Store) -> dict[str, list[Any]]:
    """Every row of the tables that hold people which does not come from planting the erased person."""
    tables = ("email_events", "message_status", "suppressions", "webhook_inbox", "dead_letters", "outbox")
    return {table: [row for [row] in store.rows(f"select cast(to_jsonb(t) as text) from {table} t order by 1")] for table in tables}


def test_a_whole_dump_holds_nothing_of_the_person(desk: Desk, store: Store) -> None:
    plant(desk, PETRA)
    assert traces(dump(store), PETRA) >= {"address", "name", "ip", "agent", "quoted", "commented", "spelled", "percent whole"}

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
    counts = {table: store.value(f"select count(*) from {table}") for table in ("email_events", "message_status", "dead_letters")}

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
        ("sofia@example.com", "ſofia@example.com"),
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
        kept = {"remark": f"'{value}'", "more": "'" + json.dumps([spelling]).replace("'", "''") + "'", "lines": f"array['{value}']"}
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
