"""Whatever is stored, Lambda takes the answer: lists end early and go on, and what does not fit says how to get it."""

import json
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from local.testing.handlers import Context
from tests.integration.conftest import Store
from tests.support.reader import Reader, question_event

#: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
LAMBDA_BYTES = 6 * 1024 * 1024
#: Each costs more in the answer than it did in the store: the second level of JSON, two escapes for one dead letter.
LETTERS = {"plain": "x", "quotes": '"', "umlauts": "ä", "hearts": "\U0001f48c"}


@pytest.fixture(params=LETTERS, ids=str)
def dead_letter(request: pytest.FixtureRequest) -> str:
    return LETTERS[request.param]


def text(dead_letter: str, characters: int) -> str:
    return f"repeat('{dead_letter}', {characters // len(dead_letter.encode())})"


def fill(store: Store, dead_letter: str = "x", *, events: int = 8, reason: int = 600_000, raw: int = 900_000) -> None:
    """Store events of one message and one address, stops and dead letters, each as large as a request may be."""
    store.rows(
        "insert into email_events (event_id, fingerprint, source, provider, kind, type, bounce_class, effect, scope, "
        "message_id, recipient, occurred_at, received_at, reason, machine, payload) "
        "select 'e' || n, 'f', 'main', 'sesmetric', 'k', 'bounced', 'hard', 'suppress', '', 'm1', 'ann@example.com', "
        f"now() - n * interval '1 s', now() - n * interval '1 s', {text(dead_letter, reason)}, false, "
        f"jsonb_build_object('n', n, 'said', {text(dead_letter, raw)}) from generate_series(1, {events}) n"
    )
    store.rows(
        "insert into email_events (event_id, fingerprint, source, provider, kind, type, scope, message_id, recipient, "
        "occurred_at, received_at, reason, machine, payload) "
        "select 'o' || n, 'f', 'main', 'sesmetric', 'k', 'deferred', '', 'n' || n, 'bob@example.com', "
        f"now() - n * interval '1 s', now() - n * interval '1 s', {text(dead_letter, reason)}, false, '{{}}' "
        f"from generate_series(1, {events}) n"
    )
    store.rows(
        "insert into message_status select message_id, recipient, type, coalesce(bounce_class, ''), min(occurred_at), "
        "max(occurred_at), max(received_at) from email_events group by 1, 2, 3, 4"
    )
    store.rows(
        "insert into suppressions (address, scope, first_suppress_at, first_suppress, last_suppress_at, last_suppress) "
        "select 'a' || n || '@example.com', '', now(), e, now(), e from generate_series(1, 8) n, lateral "
        f"(select jsonb_build_object('type', 'bounced', 'source', 'main', 'reason', {text(dead_letter, reason)}) as e)"
    )
    store.rows(
        "insert into suppressions (address, scope, first_suppress_at, first_suppress, last_suppress_at, last_suppress) "
        "select 'ann@example.com', case n when 1 then '' else 's' || n end, now(), e, now(), e "
        "from generate_series(1, 8) n, lateral "
        f"(select jsonb_build_object('type', 'bounced', 'source', 'main', 'reason', {text(dead_letter, reason)}) as e)"
    )
    store.rows(
        "insert into dead_letters (dead_letter_id, kind, reason, source, raw, received_at) "
        f"select 'd' || n, 'unparseable', {text(dead_letter, reason)}, 'main', {text(dead_letter, raw)}, now() "
        f"from generate_series(1, {events}) n"
    )


def ask(reader: Reader, path: str, query: str = "") -> Any:
    """Ask, insist on an answer, and measure what Lambda would be given."""
    event = question_event("GET", path, query, {"authorization": f"Bearer {reader.token}"}, b"")
    answer = reader.module.handler(event, Context())
    assert answer["statusCode"] == 200, (path, answer["statusCode"], answer["body"][:300])
    assert len(json.dumps(answer)) < LAMBDA_BYTES, path
    return json.loads(answer["body"])


def walk(reader: Reader, path: str, name: str, query: str = "") -> Iterator[Any]:
    cursor = ""
    for _ in range(300):
        page = ask(reader, path, query + cursor)
        yield from page[name]
        if page["next"] is None:
            return
        cursor = f"&cursor={page['next']}"
    pytest.fail("the pages never end")


def test_every_page_is_taken_and_nothing_is_left_out(reader: Reader, store: Store, dead_letter: str) -> None:
    fill(store, dead_letter)
    group = store.value("select min(group_id) from dead_letters")

    messages = list(walk(reader, "/v1/messages", "messages", "limit=200"))
    of_address = list(walk(reader, "/v1/messages", "messages", "limit=200&recipient=bob@example.com"))
    stops = list(walk(reader, "/v1/suppressions", "suppressions", "limit=200"))
    dead_letters = list(walk(reader, "/v1/dead-letters", "dead_letters", f"limit=200&group={group}"))

    assert sorted(item["message_id"] for item in messages) == ["m1", *(f"n{n}" for n in range(1, 9))]
    assert sorted(item["message_id"] for item in of_address) == [f"n{n}" for n in range(1, 9)]
    assert len({(row["address"], row["scope"]) for row in stops}) == len(stops) == 16
    assert sorted(item["dead_letter_id"] for item in dead_letters) == [f"d{n}" for n in range(1, 9)]
    for item in (*(row["event"] for row in messages), *(row["evidence"] for row in stops), *dead_letters):
        assert set(item["reason"]) == {dead_letter}


def test_raw_payloads_that_do_not_fit_say_how_to_get_them(reader: Reader, store: Store, dead_letter: str) -> None:
    fill(store, dead_letter, reason=10)

    [recipient] = ask(reader, "/v1/messages/m1", "raw=true")["recipients"]
    left_out = [event for event in recipient["timeline"] if event["raw"] is None]

    assert len(recipient["timeline"]) == 8
    assert 1 <= len(left_out) < 8
    for event in left_out:
        assert f"bin/mailfold status m1 --event {event['event_id']} --raw --json" in event["raw_left_out"]
    for event in recipient["timeline"]:
        assert event["raw"] is None or set(event["raw"]["said"]) == {dead_letter}


def test_what_to_type_is_safe_whatever_a_stranger_calls_an_event(reader: Reader, store: Store) -> None:
    fill(store, reason=10)
    store.rows("update email_events set event_id = event_id || '$(id); `id` ''' where message_id = 'm1'")

    [recipient] = ask(reader, "/v1/messages/m1", "raw=true")["recipients"]
    left_out = [event for event in recipient["timeline"] if event["raw"] is None]

    assert left_out
    for event in left_out:
        _, _, typed = event["raw_left_out"].partition("answer: ")
        words = shlex.split(typed)
        assert words[:5] == ["bin/mailfold", "status", "m1", "--event", event["event_id"]]


def test_a_timeline_that_does_not_fit_says_that_there_is_more(reader: Reader, store: Store, dead_letter: str) -> None:
    fill(store, dead_letter, events=16)

    for query in ("", "raw=true"):
        found = ask(reader, "/v1/messages/m1", query)
        [recipient] = found["recipients"]
        assert found["more_events"]
        assert 1 <= len(recipient["timeline"]) < 16


def test_an_address_is_told_whether_it_may_be_mailed(reader: Reader, store: Store, dead_letter: str) -> None:
    fill(store, dead_letter)

    found = ask(reader, "/v1/recipients/ann@example.com")

    assert not found["may_be_mailed"]
    assert len(found["suppressions"]) == 8
    assert found["more_events"]


def test_dead_letters_are_taken_one_by_one_and_in_groups(reader: Reader, store: Store, dead_letter: str) -> None:
    fill(store, dead_letter)

    groups = ask(reader, "/v1/dead-letters")["groups"]
    dead_letters = [ask(reader, f"/v1/dead-letters/d{n}", "raw=true") for n in range(1, 9)]

    assert [group["dead_letters"] for group in groups] == [8]
    for it in dead_letters:
        assert it["raw"] or f"bin/mailfold dead-letters show {it['dead_letter_id']}" in it["raw_left_out"]


@pytest.mark.parametrize("path", ["/v1/waiting", "/v1/sources", "/v1/statuses/counts", "/v1/totals"])
def test_counts_are_taken_as_well(reader: Reader, store: Store, path: str) -> None:
    fill(store)

    ask(reader, path)


def test_one_text_above_the_limit_is_cut(reader: Reader, store: Store) -> None:
    fill(store, events=2, reason=8_000_000, raw=8_000_000)
    group = store.value("select min(group_id) from dead_letters")
    asked = [
        ("/v1/messages", ""),
        ("/v1/messages", "recipient=bob@example.com"),
        ("/v1/messages/m1", ""),
        ("/v1/messages/m1", "raw=true"),
        ("/v1/recipients/ann@example.com", ""),
        ("/v1/suppressions", "limit=200"),
        ("/v1/dead-letters", ""),
        ("/v1/dead-letters", f"group={group}"),
        ("/v1/dead-letters/d1", "raw=true"),
    ]

    for path, query in asked:
        assert "[cut" in json.dumps(ask(reader, path, query)) or path == "/v1/dead-letters"
    assert len(list(walk(reader, "/v1/messages", "messages", "limit=200"))) == 3


def test_totals_end_with_a_whole_day(reader: Reader, store: Store) -> None:
    store.rows(
        "insert into daily_totals select current_date - d, 'source ' || s || repeat('x', 100), 'delivered', '', 1 "
        "from generate_series(1, 300) d, generate_series(1, 150) s"
    )

    found = ask(reader, "/v1/totals", "days=366")
    days = {row["day"] for row in found["totals"]}

    assert found["more_days"]
    assert 1 <= len(days) < 300
    assert len(found["totals"]) == 150 * len(days)
    assert not ask(reader, "/v1/totals", "days=20")["more_days"]


def test_whether_a_thousand_addresses_are_stopped_is_never_told_by_half(reader: Reader, store: Store) -> None:
    store.rows(
        "insert into suppressions (address, scope, first_suppress_at, last_suppress_at, first_suppress) "
        "select 'a' || n || '@example.com', s || repeat('s', 1000), now(), now(), '{\"type\": \"bounced\"}' "
        "from generate_series(1, 1000) n, generate_series(1, 6) s"
    )

    reply = reader.ask(
        "POST", "/v1/suppressions/check", body={"addresses": [f"a{n}@example.com" for n in range(1, 1001)]}
    )
    fewer = reader.ask("POST", "/v1/suppressions/check", body={"addresses": ["a1@example.com"]})

    assert (reply.status, "ask for less" in reply.body["error"]) == (413, True)
    assert len(fewer.body["results"][0]["scopes"]) == 6
