"""What happened, as a person reads it."""

from typing import Any

import pytest

import cli.__main__ as program
from cli.place import Place

EVENT = {
    "occurred_at": "2026-01-01T00:00:05+00:00",
    "type": "bounced",
    "bounce_class": "hard",
    "recipient": "ann@example.com",
    "message_id": "m1",
    "source": "main",
    "reason": "550\x1b[31m no",
}
ANSWERS: dict[str, dict[str, Any]] = {
    "message.show": {
        "recipients": [{"recipient": "ann@example.com", "type": "bounced", "bounce_class": "hard", "first_at": None}],
        "events": [EVENT],
    },
    "recipient.show": {
        "may_be_mailed": False,
        "suppressions": [
            {"scope": "", "suppressed": True, "first_suppress_at": EVENT["occurred_at"], "last_suppress_at": None}
        ],
        "events": [EVENT],
    },
}


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    given: list[Any] = []

    class Answering(Place):
        def order(self, command: str, **arguments: Any) -> dict[str, Any]:
            given.append((command, arguments))
            return ANSWERS[command]

    place = Answering(client=lambda service: None, outputs={}, by="test")
    monkeypatch.setattr(program, "_place", lambda arguments: place)
    return given


def test_a_message_is_shown_by_recipient(orders: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["status", "m1", "--raw"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["ann@example.com", "bounced", "hard", "-"]
    assert lines[3].split() == ["time", "type", "class", "recipient", "source", "reason"]
    assert lines[4].split(maxsplit=6)[:6] == ["2026-01-01", "00:00:05Z", "bounced", "hard", "ann@example.com", "main"]
    assert orders == [("message.show", {"message_id": "m1", "raw": True})]


def test_an_address_is_shown_with_its_messages(orders: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["recipient", "ann@example.com"]) == 0

    words = capsys.readouterr().out
    assert words.startswith("must not be mailed\n")
    assert "\x1b" not in words
    assert words.splitlines()[4].split() == ["time", "type", "class", "message", "source", "reason"]
    assert words.splitlines()[5].split()[4] == "m1"
