"""Stop lists of providers: what each row means, and which files and rows are refused."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cli.cells import harmless, plain
from cli.errors import CommandError
from cli.suppression_file_formats import Reading, read_file, read_time
from cli.suppression_files import STOP_LISTS

SAMPLES = Path(__file__).parent / "suppression_files"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
JUNE = "2025-06-01T00:00:00+00:00"

#: file -> address, scope and reason of each row
EXPECTED = {
    "sendgrid-bounces.csv": [("ann@example.com", "", "bounce"), ("bob@example.com", "", "bounce")],
    "sendgrid-spam-reports.csv": [("ann@example.com", "", "complaint")],
    "sendgrid-invalid-emails.csv": [("ann@exmaple.invalid", "", "listed")],
    "sendgrid-unsubscribes.csv": [("ann@example.com", "", "unsubscribe")],
    "sendgrid-group-unsubscribes.json": [("ann@example.com", "group:10", "unsubscribe")],
    "ses.json": [("ann@example.com", "", "bounce"), ("bob@example.com", "", "complaint")],
    "ses.csv": [("ann@example.com", "", "bounce")],
    "postmark.json": [
        ("ann@example.com", "", "bounce"),
        ("bob@example.com", "", "unsubscribe"),
        ("cid@example.com", "", "complaint"),
    ],
    "mailgun-bounces.csv": [("ann@example.com", "", "bounce")],
    "mailgun-complaints.csv": [("ann@example.com", "", "complaint")],
    "mailgun-unsubscribes.csv": [
        ("ann@example.com", "", "unsubscribe"),
        ("bob@example.com", "tag:news", "unsubscribe"),
        ("bob@example.com", "tag:offers", "unsubscribe"),
    ],
    "mailfold.csv": [
        ("ann@example.com", "", "bounce"),
        ("ann@example.com", "", "bounce"),
        ("+bob@example.com", "group:10", "manual"),
    ],
}


def read(text: str | bytes, **given: Any) -> Reading:
    return read_file(text if isinstance(text, bytes) else text.encode(), now=NOW, **given)


def named(file: str) -> str | None:
    # Two lists of SendGrid have the same columns.
    return "sendgrid-bounces" if file == "sendgrid-bounces.csv" else None


@pytest.mark.parametrize("file", EXPECTED)
def test_each_row_says_who_is_stopped_where_and_why(file: str) -> None:
    reading = read((SAMPLES / file).read_bytes(), kind=named(file))

    assert reading.kind.name == file.split(".")[0]
    assert [(row["address"], row["scope"], row["reason"]) for row in reading.rows] == EXPECTED[file]
    assert reading.bad == []


@pytest.mark.parametrize("file", EXPECTED)
def test_each_time_is_read(file: str) -> None:
    reading = read((SAMPLES / file).read_bytes(), kind=named(file))

    assert JUNE[:10] in {row["at"][:10] for row in reading.rows}
    assert all(row["at"].endswith("+00:00") for row in reading.rows)


def test_every_list_that_is_imported_has_a_sample() -> None:
    imported = {kind.name for kind in STOP_LISTS.values() if not kind.refusal}

    assert {file.split(".")[0] for file in EXPECTED} == imported
    assert {path.name for path in SAMPLES.iterdir()} == EXPECTED.keys()


def test_the_row_is_kept_as_the_file_has_it() -> None:
    [first, second] = read((SAMPLES / "sendgrid-bounces.csv").read_bytes(), kind="sendgrid-bounces").rows

    assert first["raw"]["email"] == "Ann@Example.com"
    assert first["line"] == 2
    assert second["detail"] == 'Recipient address rejected: "Access denied"'


def test_our_own_list_keeps_the_first_and_the_last_stop() -> None:
    rows = read((SAMPLES / "mailfold.csv").read_bytes()).rows

    assert [row["at"][:10] for row in rows if row["address"] == "ann@example.com"] == ["2025-05-01", "2025-06-01"]
    assert rows[-1]["detail"] == "=asked"


def test_blocks_look_like_bounces_and_must_be_told_apart() -> None:
    text = (SAMPLES / "sendgrid-bounces.csv").read_bytes()

    with pytest.raises(CommandError, match="sendgrid-bounces or sendgrid-blocks: say which"):
        read(text)
    with pytest.raises(CommandError, match="a block stops nobody"):
        read(text, kind="sendgrid-blocks")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"\xff\xfee\0m\0", "not UTF-8"),
        ("", "empty"),
        ("email;created\na@example.com;1748736000\n", "semicolons"),
        ("email,created,name\na@example.com,1748736000,Ann\n", "no format known here"),
        ("email,email\na@example.com,b\n", "two columns have the same name"),
        ('email,created\n"a@example.com,1748736000\n', "line 2: .*nothing below"),
        ("[1]", "no list of objects"),
        ("{", "begins like JSON"),
    ],
)
def test_a_file_that_would_have_to_be_guessed_is_refused(text: str | bytes, sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        read(text)


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ("nobody,1748736000", "'nobody' is no address"),
        ("a@b@example.com,1748736000", "is no address"),
        ("a\x00@example.com,1748736000", "is no address"),
        (",1748736000", "is no address"),
        ("a@example.com,01/06/2025", "no time that can be read without guessing"),
        ("a@example.com,99999999999999", "in the future"),
        ("a@example.com,", "no time; give all such rows one with --at"),
        ("a@example.com", "1 cells under 2 columns"),
        ("a@example.com,1748736000,x", "3 cells under 2 columns"),
    ],
)
def test_a_bad_row_is_named_and_its_neighbours_are_read(cells: str, why: str) -> None:
    reading = read(f"email,created\nann@example.com,1748736000\n{cells}\nbob@example.com,1748736000\n")

    assert [line for line, _ in reading.bad] == [3]
    assert why in reading.bad[0][1]
    assert [row["address"] for row in reading.rows] == ["ann@example.com", "bob@example.com"]


def test_a_reason_that_nobody_knows_is_a_bad_row() -> None:
    reading = read("EmailAddress,Reason,LastUpdateTime\na@example.com,DISLIKE,1748736000\n")

    assert "none of the reasons BOUNCE, COMPLAINT" in reading.bad[0][1]


def test_what_the_file_does_not_say_can_be_said() -> None:
    at = datetime(2025, 1, 1, tzinfo=UTC)

    [row] = read("Email\nann@example.com\n", kind="sendgrid-unsubscribes", at=at, scope="group:7").rows

    assert (row["at"], row["scope"]) == (at.isoformat(), "group:7")


def test_a_row_that_is_there_twice_counts_once() -> None:
    reading = read("email,created\nann@example.com,1748736000\nANN@example.com,1748736000\n\n")

    assert (len(reading.rows), reading.repeated) == (1, 1)


@pytest.mark.parametrize(
    "text",
    ["1748736000", "1748736000000", JUNE, "2025-06-01 00:00:00 UTC", "2025-06-01", "Sun, 01 Jun 2025 02:00:00 +0200"],
)
def test_the_ways_to_write_a_time(text: str) -> None:
    assert read_time(text).isoformat() == JUNE


@pytest.mark.parametrize("text", ["=1+1", "+a@example.com", "-x", "@x", "\tx", "'=x", "''+x", "'x", "x", ""])
def test_a_formula_is_made_harmless_and_back(text: str) -> None:
    cell = harmless(text)

    assert cell[:1] not in {"=", "+", "-", "@", "\t"}
    assert plain(cell) == text
