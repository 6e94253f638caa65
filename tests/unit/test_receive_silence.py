"""What receive writes: enough to see what happened, and never an address, a secret, a signature or a body."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from samples import sampler
from tests.support.door import SOURCES, Door

ADDRESS = "confidential.person@example.com"
WORDS = "a very private reason"


def body_of(source: str) -> bytes:
    if source == "sendgrid":
        return json.dumps([{"event": "bounce", "email": ADDRESS, "timestamp": 1, "reason": WORDS}]).encode()
    return json.dumps({"id": "evt_1", "type": "bounce", "data": {"recipient": ADDRESS, "reason": WORDS}}).encode()


def exercise(door: Door, source: str) -> tuple[set[int], str]:
    """Send one of everything: good, forged, tampered, stale, malformed, too large, unknown, put off."""
    body = body_of(source)
    signed = door.sign(source, body)
    stranger = sampler(SOURCES[source]).make_keys()
    stale = datetime.now(UTC) - timedelta(days=3)
    broken = body[:-1] + b" " + WORDS.encode()
    huge = json.dumps({"id": ADDRESS, "pad": WORDS * 60_000}).encode()
    replies = [
        door.post_signed(source, body),
        door.post_signed(source, body, encoding="plain"),
        door.post(source, body, door.sign(source, body, keys=stranger)),
        door.post(source, body + b" ", signed),
        door.post(source, body, door.sign(source, body, at=stale)),
        door.post(source, body, {**signed, **dict.fromkeys(signed, ADDRESS)}),
        door.post(source, body, signed, method="PUT"),
        door.post(ADDRESS, body, signed),
        door.post_signed(source, broken),
        door.post_signed(source, json.dumps([WORDS, ADDRESS]).encode()),
        door.post_signed(source, huge),
    ]
    door.lose_queue()
    replies.append(door.post_signed(source, body))
    return {reply.status for reply in replies}, next(text for name, text in signed.items() if "Signature" in name)


@pytest.mark.parametrize("source", SOURCES)
def test_no_line_and_no_metric_holds_what_must_not_be_told(
    door: Door, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses, signature = exercise(door, source)

    keys, written = door.keys[source], "".join(capsys.readouterr())
    assert statuses == {200, 400, 401, 404, 405, 413, 503}
    assert len(written.splitlines()) > 12
    for confidence in (
        ADDRESS,
        ADDRESS.partition("@")[0],
        WORDS,
        "private",
        keys.secret,
        *keys.signer.splitlines(),
        signature,
    ):
        assert confidence not in written


@pytest.mark.parametrize("source", SOURCES)
def test_no_answer_holds_what_must_not_be_told(door: Door, source: str) -> None:
    body = body_of(source)

    forged = door.post(source, body, door.sign(source, body, keys=sampler(SOURCES[source]).make_keys()))
    unsigned = door.post(source, body, {})
    broken = door.post_signed(source, body[:-1])

    assert forged == unsigned
    for reply in (forged, broken):
        assert ADDRESS not in json.dumps(dict(reply.body))


def test_every_line_is_json_and_names_its_step(door: Door, capsys: pytest.CaptureFixture[str]) -> None:
    exercise(door, "shop")

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert {line["service"] for line in lines} == {"receive"}
    refused = [line for line in lines if line.get("message") == "refused"]
    assert {line["status"] for line in refused} == {400, 401, 404, 405, 413}
    assert {line.get("source") for line in refused} == {"shop", None}
