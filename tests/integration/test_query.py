"""query: every route, through the real handler, under its own role, on a real Postgres."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.integration.conftest import Store, Workshop
from tests.support.reader import Reader
from tests.support.records import envelope, raw, record


def hard(event_id: str, recipient: str = "ann@example.com", **data: Any) -> Any:
    return raw(event_id, "bounce", bounce_type="Permanent", recipient=recipient, **data)


def test_a_message_is_shown_for_each_recipient_with_its_timeline(workshop: Workshop, reader: Reader) -> None:
    late = raw("e2", "delivery", at="2026-01-01T00:05:00Z")
    workshop.process(record(envelope(late, hard("e1"), raw("e3", recipient="bob@example.com"))))

    shown = reader.get("/v1/messages/m1")

    assert [(row["recipient"], row["status"], row["bounce_class"]) for row in shown["recipients"]] == [
        ("ann@example.com", "bounced", "hard"),
        ("bob@example.com", "delivered", None),
    ]
    assert [event["type"] for event in shown["recipients"][0]["timeline"]] == ["bounced", "delivered"]
    assert not shown["more_events"]


def test_the_raw_comes_only_when_asked_for_and_as_it_was(workshop: Workshop, reader: Reader) -> None:
    unstorable = {**raw("e1"), "note": "\x00 and \ud800"}
    workshop.process(record(envelope(unstorable)))

    [without] = reader.get("/v1/messages/m1")["recipients"][0]["timeline"]
    [event] = reader.get("/v1/messages/m1", raw=True)["recipients"][0]["timeline"]

    assert "raw" not in without
    assert event["raw"] == unstorable


@pytest.mark.parametrize("message_id", ["<a/b+c@host>", "100%", "ä ö", "'; drop table email_events; --"])
def test_a_message_is_found_whatever_its_id_holds(workshop: Workshop, reader: Reader, message_id: str) -> None:
    workshop.process(record(envelope(raw("e1", message_id=message_id))))

    # An HTTP API decodes all escapes but that of the percent sign.
    reply = reader.ask("GET", "/v1/messages/" + message_id.replace("%", "%25"))

    assert reply.status == 200
    assert reply.body["message_id"] == message_id


def test_an_unknown_message_is_not_found(reader: Reader) -> None:
    reply = reader.ask("GET", "/v1/messages/unknown")

    assert (reply.status, reply.body) == (404, {"error": "nothing is stored about this message"})


def test_a_recipient_is_shown_with_stops_and_events(workshop: Workshop, reader: Reader) -> None:
    workshop.process(record(envelope(hard("e1", "ann+news@example.com"))))

    suppressed = reader.get("/v1/recipients/Ann+News@example.com")
    unknown = reader.get("/v1/recipients/bob@example.com")

    assert not suppressed["may_be_mailed"]
    assert [event["type"] for event in suppressed["events"]] == ["bounced"]
    assert unknown["may_be_mailed"]
    assert unknown["suppressions"] == unknown["events"] == []


def test_an_erased_person_is_still_found_by_the_address(workshop: Workshop, store: Store, reader: Reader) -> None:
    workshop.process(record(envelope(hard("e1"))))
    for table, column in (("email_events", "recipient"), ("suppressions", "address"), ("message_status", "recipient")):
        store.rows(f"update {table} set {column} = erased_form({column})")

    shown = reader.get("/v1/recipients/ann@example.com")
    checked = reader.ask("POST", "/v1/suppressions/check", body={"addresses": ["ann@example.com"]}).body
    listed = reader.get("/v1/messages", recipient="ann@example.com")

    assert not shown["may_be_mailed"]
    assert len(shown["events"]) == len(listed["messages"]) == 1
    assert checked["results"][0]["suppressed"]


def walk(reader: Reader, path: str, name: str, **query: Any) -> Any:
    cursor: dict[str, str] = {}
    while True:
        page = reader.get(path, **query, **cursor)
        yield page[name]
        if page["next"] is None:
            return
        cursor = {"cursor": page["next"]}


def test_totals_and_series_count_what_is_stored(workshop: Workshop, reader: Reader) -> None:
    now = datetime.now(UTC)
    at = now.isoformat()
    workshop.process(record(envelope(raw("e1", at=at), {**hard("e2"), "timestamp": at}, at=now)))

    totals = reader.get("/v1/totals", days=1)["totals"]
    points = reader.get("/v1/events/series", step="day", until=(now + timedelta(seconds=1)).isoformat())["points"]
    none = reader.get("/v1/events/series", source="other")["points"]

    assert {(row["type"], row["bounce_class"], row["events"]) for row in totals} == {
        ("delivered", None, 1),
        ("bounced", "hard", 1),
    }
    assert {(row["type"], row["events"]) for row in points} == {("delivered", 1), ("bounced", 1)}
    assert none == []


@pytest.mark.parametrize(
    "query",
    [
        {"since": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z"},
        {"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
        {"step": "day", "since": "2026-01-01T00:00:00Z", "until": "2026-03-01T00:00:00Z"},
        {"step": "week"},
        {"until": "0001-01-01T00:00:00Z"},
    ],
)
def test_a_plot_is_bounded(reader: Reader, query: dict[str, str]) -> None:
    assert reader.ask("GET", "/v1/events/series", query=query).status == 400


def test_statuses_are_counted_by_message_and_recipient(workshop: Workshop, reader: Reader) -> None:
    workshop.process(
        record(
            envelope(
                raw("e1"),
                raw("e2", "open"),
                hard("e3", "bob@example.com"),
                raw("e4", message_id="m2"),
                raw("e5", "complaint", message_id="m3"),
            )
        )
    )

    counts = reader.get("/v1/statuses/counts")["counts"]

    found = {(row["status"], row["bounce_class"]): row["messages"] for row in counts if row["messages"]}
    assert found == {("opened", None): 1, ("bounced", "hard"): 1, ("delivered", None): 1, ("complained", None): 1}
    assert not any(row["more"] for row in counts)


def test_sources_tell_whether_they_flow(workshop: Workshop, reader: Reader, store: Store) -> None:
    workshop.process(record(envelope(hard("e1"), at=datetime.now(UTC))), record("no envelope"))
    store.rows("update dead_letters set source = 'main'")

    told = {row["source"]: row for row in reader.get("/v1/sources")["sources"]}

    assert told.keys() == {"main", "sendgrid", "ses"}
    assert told["main"]["provider"] == "sesmetric"
    assert told["main"]["hour"] == {"sends": 1, "hard_bounces": 1, "complaints": 0, "events": 1}
    assert told["main"]["dead_letters"] == 1
    assert told["main"]["last_event_at"] is not None
    assert (told["ses"]["last_event_at"], told["ses"]["quiet"]) == (None, False)
    assert {rate["name"] for rate in told["main"]["rates"]} >= {"HardBouncePercentHour", "ComplaintPercentDay"}


def test_dead_letters_come_in_groups_then_in_pages_then_whole(workshop: Workshop, reader: Reader) -> None:
    workshop.process(*(record(f"no envelope {n}") for n in range(5)), record(envelope({"id": "x"})))

    groups = {group["kind"]: group for group in reader.get("/v1/dead-letters")["groups"]}
    group_id = groups["not_an_envelope"]["group_id"]
    pages = list(walk(reader, "/v1/dead-letters", "dead_letters", group=group_id, limit=2))
    one = reader.get(f"/v1/dead-letters/{pages[0][0]['dead_letter_id']}")

    assert {kind: group["dead_letters"] for kind, group in groups.items()} == {"not_an_envelope": 5, "unparseable": 1}
    assert [len(page) for page in pages] == [2, 2, 1]
    assert len({dead_letter["dead_letter_id"] for page in pages for dead_letter in page}) == 5
    assert one["raw"].startswith("no envelope")
    assert reader.ask("GET", "/v1/dead-letters/unknown").status == 404


def test_letters_are_folded_again_in_the_name_of_the_token(reader: Reader, store: Store, workshop: Workshop) -> None:
    workshop.process(record(envelope({**raw("e1"), "type": ""})))
    store.rows('update dead_letters set raw = replace(raw, \'"type":""\', \'"type":"delivery"\')')
    count = "select (select count(*) from email_events), (select count(*) from dead_letters)"

    tried = reader.ask("POST", "/v1/dead-letters/redrive", body={"all": True})
    before = store.rows(count)
    done = reader.ask("POST", "/v1/dead-letters/redrive", body={"all": True, "apply": True})

    assert (tried.status, tried.body["applied"], before) == (200, False, [[0, 1]])
    assert (done.status, done.body["applied"], store.rows(count)) == (200, True, [[1, 0]])
    assert store.rows("select by_whom, action from audit_log") == [["token:ann", "dead-letters.redrive"]]


def test_a_choice_of_letters_that_is_none_is_declined(reader: Reader) -> None:
    assert reader.ask("POST", "/v1/dead-letters/redrive", body={}).status == 409


def test_health_needs_no_token_and_tells_no_data(reader: Reader, store: Store) -> None:
    reply = reader.ask("GET", "/healthz", token="")

    version = store.value("select max(version) from schema_migrations")
    assert (reply.status, reply.body) == (200, {"database": "reachable", "schema_version": version})


def test_a_database_that_is_away_is_503(reader: Reader, store: Store) -> None:
    store.rows("alter view current_status rename to elsewhere")

    reply = reader.ask("GET", "/v1/messages/m1")

    assert (reply.status, reply.headers["retry-after"]) == (503, "1")


def test_a_mistake_of_ours_is_500_and_says_nothing(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stumble(*_: object) -> None:
        raise RuntimeError("ann@example.com")

    monkeypatch.setattr("mailfold.steps.query.messages.read", stumble)

    reply = reader.ask("GET", "/v1/recipients/ann@example.com")

    written = capsys.readouterr().out
    assert reply.status == 500
    assert "RuntimeError" in written
    assert "ann@" not in written + reply.content.decode()


def test_reading_cannot_write(reader: Reader, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(tx: Any, *_: object) -> Any:
        return tx.execute("insert into audit_log (by_whom, action) values ('a', 'b')")

    monkeypatch.setattr("mailfold.steps.query.messages.read", write)

    assert reader.ask("GET", "/v1/recipients/ann@example.com").status == 503
    assert store.rows("select * from audit_log") == []


def test_answers_are_kept_by_nobody(reader: Reader) -> None:
    for path in ("/v1/totals", "/v1/nowhere", "/healthz"):
        headers = reader.ask("GET", path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert not [name for name in headers if name.startswith("access-control")]
        assert json.dumps(dict(headers))
