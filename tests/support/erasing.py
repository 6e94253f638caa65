"""A whole database about one person, and a search for whatever is left of the person in it."""

import json
import re
import subprocess
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import pytest

from local.binaries import find_binaries
from local.testing.handlers import Context, load_handler
from local.testing.proofs import NOW, verified_request
from mailfold.envelope import seal
from mailfold.events import digest
from mailfold.providers import REGISTRY
from mailfold.queue import Record
from mailfold.request import Source
from mailfold.steps.process import ProcessContext, process
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry
from samples import sampler
from tests.support.people import Person, events_of, ids_of

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
SOURCES = {name: Source(name=name, provider=name, options=dict(sampler(name).OPTIONS)) for name in sorted(REGISTRY)}


class Desk:
    """process and operate with a source of each provider."""

    def __init__(self, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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
        context = ProcessContext(
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
        assert process(records, context).failed == []

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
        return {
            name: counts["found"] for name, counts in self.pages("erase.verify", address).items() if counts["found"]
        }

    def close(self) -> None:
        self.operate.database.close()
        self.database.close()


def dump(store: Any) -> str:
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
        raw = {
            "id": f"spelled-{digest(person.address)}-{place}",
            "type": "bounce",
            "timestamp": "2026-01-02T00:00:00Z",
            "data": data,
        }
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
