"""What nobody sane sends: refused in a sentence or found to be nothing, and never written down."""

import json
from typing import Any

import pytest

from local.testing.events import question_event
from local.testing.handlers import Context
from tests.integration.conftest import Store, Workshop
from tests.support.reader import Reader
from tests.support.records import envelope, raw, record

SECRET = "confidential.person@example.com"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        "{}",
        '{"addresses": []}',
        '{"addresses": "a@example.com"}',
        '{"addresses": [1]}',
        '{"addresses": [""]}',
        '{"addresses": ["' + "a" * 321 + '"]}',
        '{"addresses": ["a@example.com"], "scope": null}',
        '{"addresses": ["a@example.com"], "more": 1}',
        '{"addresses": NaN}',
        "[" * 100_000,
        "\ud800",
    ],
)
def test_a_body_of_another_shape_is_refused(reader: Reader, body: str) -> None:
    event = question_event(
        "POST",
        "/v1/suppressions/check",
        "",
        {"authorization": f"Bearer {reader.token}"},
        body.encode("utf-8", "surrogatepass"),
    )

    assert reader.module.handler(event, Context())["statusCode"] == 400


def test_a_body_that_is_too_large_is_refused_before_it_is_read(reader: Reader) -> None:
    assert reader.ask("POST", "/v1/suppressions/check", body="x" * 700_001).status == 413


@pytest.mark.parametrize(
    "query",
    [
        "nonsense=1",
        "limit=0",
        "limit=201",
        "limit=ten",
        "limit=%C2%B2",
        "limit=1&limit=2",
        "status=unknown",
        "since=yesterday",
        "since=0001-01-01T00:00:00%2B23:59",
        "recipient=nobody",
        "recipient=",
        "source=",
        "=",
        "&".join(f"a{n}=1" for n in range(30)),
    ],
)
def test_a_query_of_another_shape_is_refused(reader: Reader, query: str) -> None:
    assert reader.ask("GET", "/v1/messages", query=query).status == 400


@pytest.mark.parametrize(
    "query",
    [
        "recipient=ann+news@example.com",
        "recipient=ann%2Bnews%40example.com",
        "recipient=%00%ED%A0%80@example.com",
        "recipient=%FF@example.com",
        "recipient=%F0%9F%92%8C@%E4%BE%8B.example",
        "source='; drop table email_events; --",
        "since=2026-01-01T00:00:00+01:00",
        "since=2026-01-01",
        "&&",
    ],
)
def test_a_strange_value_is_only_a_value(workshop: Workshop, reader: Reader, store: Store, query: str) -> None:
    workshop.process(record(envelope(raw("e1", recipient="ann+news@example.com"))))

    reply = reader.ask("GET", "/v1/messages", query=query)

    assert reply.status == 200
    assert (len(reply.body["messages"]) == 1) == ("news" in query or query.startswith(("since", "&")))
    assert store.value("select count(*) from email_events") == 1


@pytest.mark.parametrize(
    "address",
    [
        "\x00@example.com",
        "\ud800@example.com",
        "a@" + "b" * 300,
        "%00@x",
        "💌@example.com",
        "'@\"",
        "../../v1/totals@x",
    ],
)
def test_a_strange_address_in_the_path_is_only_an_address(reader: Reader, address: str) -> None:
    for method, path in (("GET", "/v1/recipients/"), ("PUT", "/v1/suppressions/"), ("DELETE", "/v1/suppressions/")):
        assert reader.ask(method, path + address).status == 200


@pytest.mark.parametrize("address", ["", "nobody", "a" * 321 + "@x", " "])
def test_what_is_no_address_is_refused(reader: Reader, address: str) -> None:
    assert reader.ask("PUT", f"/v1/suppressions/{address}").status in (400, 404)


@pytest.mark.parametrize(
    "path",
    [
        "/console/../settings.py",
        "/console/..%2Fsettings.py",
        "/console/%2e%2e/settings.py",
        "/console//etc/passwd",
        "/console/index.html\x00.js",
        "/console/__init__.py",
        "/consolex",
    ],
)
def test_nothing_but_the_listed_files_is_served(reader: Reader, path: str) -> None:
    assert reader.ask("GET", path, token="").status in (401, 404)


def test_no_line_holds_an_address_or_a_token(
    workshop: Workshop, reader: Reader, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop.process(record(envelope(raw("e1", "bounce", recipient=SECRET, message_id=f"<{SECRET}>"))))
    read_only = reader.make_token("reader", "read")
    capsys.readouterr()
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", f"/v1/messages/<{SECRET}>", {}),
        ("GET", f"/v1/recipients/{SECRET}", {}),
        ("GET", "/v1/messages", {"query": {"recipient": SECRET}}),
        ("GET", "/v1/messages", {"query": {"status": SECRET}}),
        ("GET", "/v1/messages", {"query": {SECRET: "1"}}),
        ("GET", "/v1/messages", {"query": {"cursor": SECRET}}),
        ("POST", "/v1/suppressions/check", {"body": {"addresses": [SECRET]}}),
        ("POST", "/v1/suppressions/check", {"body": {"addresses": SECRET}}),
        ("POST", "/v1/suppressions/check", {"body": f"{{{SECRET}"}),
        ("PUT", f"/v1/suppressions/{SECRET}", {"body": {"reason": SECRET}}),
        ("PUT", f"/v1/suppressions/{SECRET}", {"token": read_only}),
        ("DELETE", f"/v1/suppressions/{SECRET}", {}),
        ("GET", f"/v1/{SECRET}", {}),
        (SECRET, f"/v1/recipients/{SECRET}", {}),
        ("GET", f"/v1/recipients/{SECRET}", {"token": f"mf_{SECRET}"}),
        ("GET", f"/v1/recipients/{SECRET}", {"token": ""}),
        ("GET", f"/console/{SECRET}", {}),
    ]

    statuses = [reader.ask(method, path, **more).status for method, path, more in asked]
    store.rows("alter table suppressions rename to elsewhere")
    statuses.append(reader.ask("GET", f"/v1/recipients/{SECRET}").status)

    written = "".join(capsys.readouterr())
    assert {200, 400, 401, 403, 404, 405, 503} == set(statuses)
    for confidence in (SECRET, SECRET.upper(), "confidential", reader.token, read_only, "Bearer"):
        assert confidence not in written
    lines = [json.loads(line) for line in written.splitlines()]
    assert {line["message"] for line in lines if "message" in line} == {"answered"}
    assert {line.get("by") for line in lines if "message" in line} == {None, "ann"}
