"""The contract of keyed sources at the real receive function: a key is answered once, and no doubt loses an event."""

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyItemAlreadyExistsError
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord

from mailfold import keyed as keyed_module
from mailfold.queue import Queue
from samples import Keys, sampler
from tests.support.door import Door, Reply
from tests.support.silent import Silent

SOURCES = {"mail": "mailwebhook", "other": "mailwebhook", "standard": "standardwebhooks"}
NUMBERS = count(1)
KEY = "0f4d8f8a2cf8a8a0e48f2e0ff8f322f3"
ONE = {"type": "bounce", "timestamp": "2026-01-01T00:00:05Z", "recipient": "ann@example.com"}
TWO = {**ONE, "type": "reply"}


class Killed(BaseException):
    """Ends an attempt as the loss of its machine does: nothing cleans up after it."""


class Dying:
    """A queue that takes its caller down."""

    def send_message_batch(self, **_: Any) -> Mapping[str, Any]:
        raise Killed


class Keyed:
    """The real receive function with keyed sources, a table of claims, and their senders."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
        self._dynamodb = boto3.client("dynamodb", region_name="eu-west-1")
        self.table = f"claims-{next(NUMBERS)}"
        self._dynamodb.create_table(
            TableName=self.table,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        sources = {name: {"provider": provider} for name, provider in SOURCES.items()}
        settings = {"SOURCES": json.dumps(sources), "CLAIM_TABLE": self.table, **environment}
        self.keys: dict[str, Keys] = {name: sampler(provider).make_keys() for name, provider in SOURCES.items()}
        self._door = Door(monkeypatch, **settings)
        self._door.set_secret(json.dumps({name: [keys.secret] for name, keys in self.keys.items()}))

    @property
    def step(self) -> Any:
        """The door inside the function, which a test may tamper with."""
        return self._door.handler.receive_context

    def post(
        self, event: Any, key: str | None = KEY, *, header: str = "X-Idempotency-Key", source: str = "mail"
    ) -> Reply:
        """Hand in a genuine request under this key."""
        body = json.dumps(event).encode()
        headers = dict(sampler(SOURCES[source]).sign(body, self.keys[source], datetime.now(UTC)))
        headers.pop("X-Idempotency-Key", None)
        return self._door.post(source, body, {**headers, header: key} if key is not None else headers)

    def kill_an_attempt(self, event: Any, key: str = KEY) -> None:
        """Let an attempt end between its claim and the queue."""
        whole = self.step
        self._door.handler.receive_context = replace(whole, queue=Queue(client=Dying(), url="queue"))
        with pytest.raises(Killed):
            self.post(event, key)
        self._door.handler.receive_context = whole

    def queued(self) -> list[dict[str, Any]]:
        """Take every envelope off the queue."""
        return self._door.queued()

    def lose_queue(self) -> None:
        self._door.lose_queue()

    def lose_table(self) -> None:
        self._dynamodb.delete_table(TableName=self.table)

    def records(self) -> list[dict[str, Any]]:
        """Every record of the table."""
        items: list[dict[str, Any]] = self._dynamodb.scan(TableName=self.table)["Items"]
        return items

    def age(self, name: str, value: int) -> None:
        """Set a time of the one record."""
        (record,) = self.records()
        self._dynamodb.put_item(TableName=self.table, Item={**record, name: {"N": str(value)}})


@pytest.fixture
def keyed(aws: None, monkeypatch: pytest.MonkeyPatch) -> Keyed:
    return Keyed(monkeypatch)


@pytest.mark.parametrize("key", [None, "", "k" * 256], ids=["missing", "empty", "too long"])
def test_a_missing_key_is_400_and_nothing_is_claimed(keyed: Keyed, key: str | None) -> None:
    assert keyed.post(ONE, key).status == 400
    assert (keyed.queued(), keyed.records()) == ([], [])


def test_a_new_key_is_queued_and_its_answer_recorded(keyed: Keyed) -> None:
    reply = keyed.post(ONE)

    assert (reply.status, reply.body) == (200, {"events": 1})
    assert [envelope["events"] for envelope in keyed.queued()] == [[ONE]]
    (record,) = keyed.records()
    assert record["status"]["S"] == "COMPLETED"
    assert json.loads(record["data"]["S"]) == {"events": 1}


def test_a_completed_key_gets_the_recorded_answer_and_nothing_is_queued_again(keyed: Keyed) -> None:
    first = keyed.post(ONE)
    keyed.queued()

    again = [keyed.post(ONE) for _ in range(3)]

    assert again == [first] * 3
    assert keyed.queued() == []


@pytest.mark.parametrize("header", ["Idempotency-Key", "idempotency-key", "x-idempotency-key"])
def test_the_key_has_an_alias(keyed: Keyed, header: str) -> None:
    keyed.post(ONE)
    keyed.queued()

    assert keyed.post(ONE, header=header).status == 200
    assert keyed.queued() == []


def test_the_same_key_for_another_payload_is_409_and_queued_for_the_dead_letters(keyed: Keyed) -> None:
    keyed.post(ONE)
    (first,) = keyed.queued()

    reply = keyed.post(TWO)

    (collision,) = keyed.queued()
    assert reply.status == 409
    assert collision["claim_key"] == first["claim_key"]
    assert collision["request_hash"] != first["request_hash"]


def test_a_collision_does_not_spoil_the_first_answer(keyed: Keyed) -> None:
    keyed.post(ONE)
    keyed.post(TWO)
    keyed.queued()

    assert keyed.post(ONE).status == 200
    assert keyed.queued() == []


def test_a_key_in_flight_is_202_and_queued_all_the_same(keyed: Keyed) -> None:
    keyed.kill_an_attempt(ONE)

    reply = keyed.post(ONE)

    assert (reply.status, reply.body) == (202, {"status": "processing"})
    assert [envelope["events"] for envelope in keyed.queued()] == [[ONE]]


def test_a_key_in_flight_for_another_payload_is_a_collision(keyed: Keyed) -> None:
    keyed.kill_an_attempt(ONE)

    assert keyed.post(TWO).status == 409
    assert len(keyed.queued()) == 1


def test_an_attempt_that_died_is_taken_over_when_its_time_is_up(keyed: Keyed) -> None:
    keyed.kill_an_attempt(ONE)
    keyed.age("in_progress_expiration", int((time.time() - 1) * 1000))

    assert keyed.post(ONE).status == 200
    assert len(keyed.queued()) == 1
    assert keyed.records()[0]["status"]["S"] == "COMPLETED"


def test_a_record_that_has_expired_is_forgotten(keyed: Keyed) -> None:
    keyed.post(ONE)
    keyed.queued()
    keyed.age("expiration", int(time.time()) - 1)

    assert keyed.post(TWO).status == 200
    assert len(keyed.queued()) == 1


def test_a_claim_outlives_the_retries_of_three_days(keyed: Keyed) -> None:
    keyed.post(ONE)

    (record,) = keyed.records()
    left = datetime.fromtimestamp(int(record["expiration"]["N"]), UTC) - datetime.now(UTC)
    assert timedelta(days=3) < left <= timedelta(days=4)


def test_two_sources_may_use_the_same_key(keyed: Keyed) -> None:
    assert keyed.post(ONE).status == keyed.post(TWO, source="other").status == 200
    assert len(keyed.queued()) == 2


def test_standard_webhooks_are_keyed_by_their_id(keyed: Keyed) -> None:
    def post() -> int:
        body = json.dumps(ONE).encode()
        headers = sampler("standardwebhooks").sign(body, keyed.keys["standard"], datetime.now(UTC))
        return keyed._door.post("standard", body, headers).status

    assert (post(), post()) == (200, 200)
    assert len(keyed.queued()) == 1


def test_the_table_knows_neither_keys_nor_addresses(keyed: Keyed) -> None:
    keyed.post(ONE)

    stored = json.dumps(keyed.records())
    assert KEY not in stored
    assert "example.com" not in stored


def test_without_a_queue_the_key_is_free_for_the_retry(keyed: Keyed) -> None:
    whole = keyed.step
    keyed._door.handler.receive_context = replace(
        whole, queue=replace(whole.queue, url="https://sqs.eu-west-1.amazonaws.com/1/no")
    )
    assert keyed.post(ONE).status == 503
    assert keyed.records() == []

    keyed._door.handler.receive_context = whole

    assert keyed.post(ONE).status == 200
    assert len(keyed.queued()) == 1


def test_without_the_table_the_door_stays_open(keyed: Keyed) -> None:
    keyed.lose_table()

    assert [keyed.post(ONE).status for _ in range(2)] == [200, 200]
    # The same claim twice: Postgres takes one of them.
    assert len({envelope["claim_key"] for envelope in keyed.queued()}) == 1


def test_without_table_and_queue_the_provider_is_asked_to_try_again(keyed: Keyed) -> None:
    keyed.lose_table()
    keyed.lose_queue()

    assert keyed.post(ONE).status == 503


def test_a_table_that_is_lost_after_the_queue_has_the_event_changes_nothing(keyed: Keyed) -> None:
    def lost(**_: Any) -> None:
        raise ConnectionError("the table is gone")

    keyed.step.keyed._persistence.client.meta.events.register("before-call.dynamodb.UpdateItem", lost)

    assert keyed.post(ONE).status == 200
    assert {envelope["claim_key"] for envelope in keyed.queued()} == {f"mail:key:{KEY}:0"}


def test_a_table_that_refuses_connections_does_not_shut_the_door(aws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        keyed = Keyed(monkeypatch, AWS_ENDPOINT_URL_DYNAMODB=f"http://127.0.0.1:{reserved.getsockname()[1]}")

        assert keyed.post(ONE).status == 200

    assert len(keyed.queued()) == 1


def test_a_table_that_says_nothing_costs_less_than_a_providers_patience(
    aws: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest_s = keyed_module.TIMEOUT_S
    monkeypatch.setattr(keyed_module, "TIMEOUT_S", 0.05)
    with Silent() as silent:
        keyed = Keyed(monkeypatch, AWS_ENDPOINT_URL_DYNAMODB=silent.url)

        reply = keyed.post(ONE)

        assert silent.calls() == keyed_module.TRIES
    # Svix and SNS wait 15 s, and receive itself has 10. boto3 pauses for a second at most before it tries again.
    assert keyed_module.TRIES * (longest_s + 1) < 8
    assert reply.status == 200
    assert len(keyed.queued()) == 1


def test_a_table_that_contradicts_itself_does_not_shut_the_door(keyed: Keyed) -> None:
    class Confused(DynamoDBPersistenceLayer):
        """Refuses a key for a record that has expired meanwhile, each time it is asked."""

        def _put_record(self, data_record: DataRecord) -> None:
            data_record.expiry_timestamp = 1
            raise IdempotencyItemAlreadyExistsError(old_data_record=data_record)

    keyed.step.keyed.__dict__["_persistence"] = Confused(table_name=keyed.table)

    assert keyed.post(ONE).status == 200
    assert len(keyed.queued()) == 1
