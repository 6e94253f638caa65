"""What the fold is measured against: the consumers people write, and what the server alone could do."""

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pg8000.dbapi
from aws_lambda_powertools.utilities.idempotency import BasePersistenceLayer, IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord

from bench.traffic import RECEIVED_AT, SOURCE
from local.testing.handlers import Context
from mailfold.envelope import Envelope, parse_record
from mailfold.events import Event, Raw
from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.store import batch
from mailfold.store.connection import Database, Transaction
from mailfold.store.queries import query

TABLES = (Path(__file__).parent / "sql/baseline_tables.sql").read_text()
TERMINAL = {"bounce", "spamreport"}
#: Where the fold reads its rows, and which columns it reads.
PARAMETER = re.compile(r"from jsonb_to_recordset\([^()]*\([^()]*\)\) as \w+ \((.*?)\n    \)", re.DOTALL)
[ROWS] = PARAMETER.findall(query("fold"))
COLUMNS = re.findall(r"^\s*(\w+) ", ROWS, re.MULTILINE)


class NaiveConsumer:
    """The consumer that most teams write first: per event a dedupe, a status and, for the worst, a suppression."""

    def __init__(self, port: int, database: str) -> None:
        self._connection = pg8000.dbapi.connect("postgres", host="127.0.0.1", port=port, database=database)
        self._connection.autocommit = True

    def consume(self, events: Sequence[Raw]) -> None:
        """Take events one by one."""
        cursor = self._connection.cursor()
        for event in events:
            self._consume_one(cursor, event)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _consume_one(self, cursor: Any, event: Raw) -> None:
        values = (event["sg_event_id"], event["sg_message_id"], event["event"], event["email"], event["timestamp"])
        cursor.execute(
            "insert into naive_events (event_id, message_id, type, recipient, occurred_at, payload) "
            "values (%s, %s, %s, %s, to_timestamp(%s), %s) on conflict (event_id) do nothing returning event_id",
            (*values, json.dumps(event)),
        )
        if not cursor.fetchall():
            return
        cursor.execute(
            "insert into naive_status as s (message_id, type, occurred_at) values (%s, %s, to_timestamp(%s)) "
            "on conflict (message_id, type) do update set occurred_at = excluded.occurred_at "
            "where excluded.occurred_at > s.occurred_at",
            (event["sg_message_id"], event["event"], event["timestamp"]),
        )
        if event["event"] in TERMINAL:
            cursor.execute(
                "insert into naive_suppressions (email, reason, suppressed_at) values (%s, %s, to_timestamp(%s)) "
                "on conflict (email) do nothing",
                (event["email"], event["event"], event["timestamp"]),
            )


class PostgresPersistence(BasePersistenceLayer):
    """Powertools' persistence on Postgres the plain way: a round trip, and a commit, for each of its hooks."""

    def __init__(self, database: Database) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Powertools leaves this one untyped
        self._database = database

    def _get_record(self, idempotency_key: str) -> DataRecord:
        rows = self._database.execute(
            f"select status, expiration, data, payload_hash from record_claims where id = '{idempotency_key}'"  # noqa: S608  # nosec B608 - our own keys
        )
        if not rows:
            raise IdempotencyItemNotFoundError
        status, expiration, data, payload_hash = rows[0]
        return DataRecord(idempotency_key, status, expiration, None, data, payload_hash)

    def _put_record(self, data_record: DataRecord) -> None:
        taken = self._database.execute(
            "insert into record_claims (id, status, expiration) values "  # noqa: S608  # nosec B608 - our own keys
            f"('{data_record.idempotency_key}', '{data_record.status}', {data_record.expiry_timestamp or 0}) "
            "on conflict (id) do nothing returning id"
        )
        if not taken:
            raise IdempotencyItemAlreadyExistsError

    def _update_record(self, data_record: DataRecord) -> None:
        self._database.execute(
            f"update record_claims set status = '{data_record.status}', data = '{data_record.response_data}' "  # noqa: S608  # nosec B608 - our own keys
            f"where id = '{data_record.idempotency_key}'"
        )

    def _delete_record(self, data_record: DataRecord) -> None:
        self._database.execute(f"delete from record_claims where id = '{data_record.idempotency_key}'")  # noqa: S608  # nosec B608 - our own keys


class PerRecord:
    """Powertools' idempotency around each record, with our own statement inside: only the batching is missing."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        config = IdempotencyConfig(event_key_jmespath="claim_key", use_local_cache=False)
        config.register_lambda_context(Context())  # type: ignore[arg-type]  # it asks for the remaining time only
        self._fold_once = idempotent_function(
            self._fold,
            data_keyword_argument="claim",
            persistence_store=PostgresPersistence(self._database),
            config=config,
        )

    def consume(self, bodies: Sequence[str]) -> None:
        """Take records one by one."""
        for body in bodies:
            envelope = Envelope.loads(parse_record(body))
            self._fold_once(claim={"claim_key": envelope.claim_key}, envelope=envelope)

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def _fold(self, *, claim: dict[str, str], envelope: Envelope) -> dict[str, int]:
        events = [event for raw in envelope.events for event in parse(raw)]
        stored = batch.fold(Transaction(self._database), events, publish=False)
        return {"new": len(stored)}


class ServerAlone:
    """The same rows through the same statement, from a table of the server's own: no client, no JSON, no claims."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._statement = _from_staging(query("fold"))
        database.execute(f"create table staging ({ROWS})")
        database.execute("create table copied (like staging); alter table copied add primary key (event_id)")

    def stage(self, events: Sequence[Event]) -> None:
        """Put the rows where the statement finds them."""
        self._database.execute("truncate staging")
        copy_rows(self._database, "staging", events)

    def fold(self) -> None:
        """Fold what is staged."""
        self._database.execute(self._statement)


def _from_staging(statement: str) -> str:
    """Let the fold read the staging table instead of its parameter."""
    return PARAMETER.sub("from staging", statement).replace(":publish", "'false'").replace(":settle", "'false'")


def copy_text(events: Sequence[Event]) -> str:
    """Return the rows of events in COPY's text format."""
    return "".join("\t".join(_copied(getattr(event, name)) for name in COLUMNS) + "\n" for event in events)


def copy_rows(database: Database, table: str, events: Sequence[Event]) -> None:
    """Copy events into a table of these columns."""
    copy_stream(database, table, io.BytesIO(copy_text(events).encode()))


def copy_stream(database: Database, table: str, stream: io.BytesIO) -> None:
    """Copy rows that are rendered already."""
    database._connected().run(f"copy {table} ({', '.join(COLUMNS)}) from stdin", stream=stream)


def _copied(value: Any) -> str:
    if value is None:
        return "\\N"
    text = json.dumps(value) if isinstance(value, dict) else str(value)
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def parse(raw: Raw) -> list[Event]:
    """Return the events of one raw event."""
    return REGISTRY["sendgrid"].parse(raw, Origin(source=SOURCE, received_at=RECEIVED_AT, headers={}))
