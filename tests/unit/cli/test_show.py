"""What a person and a program are shown."""

import json

import pytest

from cli.show import as_json, cell, fields, table


def test_a_table_is_aligned_and_has_a_dash_for_nothing() -> None:
    rows = [{"name": "ann", "count": 12}, {"name": "bob"}]

    assert table(rows, {"who": "name", "how many": "count"}).splitlines() == ["who  how many", "ann  12", "bob  -"]


def test_an_empty_table_says_so() -> None:
    assert table([], {"who": "name"}) == "nothing"


def test_fields_are_one_line_each() -> None:
    assert fields({"a": 1, "b": None}, {"first": "a", "the second": "b"}).splitlines() == [
        "first       1",
        "the second  -",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("2026-11-18T12:00:05.123456+00:00", "2026-11-18 12:00:05Z"),
        ("2026-11-18T12:00:05Z", "2026-11-18 12:00:05Z"),
        ("2026-11-18T12:00:05 is no time", "2026-11-18T12:00:05 is no time"),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_values_are_written_for_people(value: object, shown: str) -> None:
    assert cell(value) == shown


@pytest.mark.parametrize("hostile", ["\x1b[2J", "a\nb", "\x9b31m", "\r", "‮gpj.exe", "\x07"])
def test_a_terminal_obeys_nothing_that_a_provider_says(hostile: str) -> None:
    shown = table([{"reason": f"550 {hostile} no"}], {"reason": "reason"})

    assert shown.count("\n") == 1
    assert all(line.isprintable() for line in shown.splitlines())
    assert as_json({"reason": hostile}).isascii()
    assert json.loads(as_json({"reason": hostile})) == {"reason": hostile}
