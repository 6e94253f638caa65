"""An address is found however it is written, nobody else's is, and what remains can still be read."""

import json
import re
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from mailfold.providers import REGISTRY
from mailfold.providers.base import Origin
from mailfold.redaction import Redaction
from mailfold.request import Source
from samples import Raw, sampler

ANN = "ann+news@example.com"
FORM = "erased:" + "ab" * 32


def redact(text: str, address: str = ANN) -> str:
    return Redaction(address, FORM).redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "<{}>",
        "no such user <{}>: gone",
        "mailto:{}?subject=x",
        "550 5.1.1 {}: no such user",
        "no such user: {}.",
        "...{}...",
        "'{}'",
        "a,{},b",
        "https://example.com/u/{}/leave",
        "SRS0=xx={}",
        "({})",
    ],
)
@pytest.mark.parametrize("written", [ANN, ANN.upper()])
def test_an_address_is_found_in_what_is_around_it(text: str, written: str) -> None:
    assert redact(text.format(written)) == text.format(FORM)


@pytest.mark.parametrize(
    "text", ["Ann <{}>", '"Ann, née B." <{}>', "bob@x.org, Ann B <{}>", "Ann <{}>, Bob <bob@x.org>"]
)
def test_the_name_beside_an_address_goes_with_it(text: str) -> None:
    redacted = redact(text.format(ANN))

    assert f"<{FORM}>" in redacted
    assert "Ann" not in redacted
    assert ("bob@x.org" in redacted) is ("bob" in text)


@pytest.mark.parametrize("text", ["<{}.1@mailer>", "id-{}-1", "tok-{}", "{}", "/{}/2", "x_{}.17", "a:{}:0"])
def test_an_id_loses_the_address_with_the_signs_that_tie_it(text: str) -> None:
    redaction = Redaction(ANN, FORM)

    assert redaction.redact_id(text.format(ANN)) == text.format(FORM)
    assert redaction.redact_id(text.format(f"jo.{ANN}"), owner=f"jo.{ANN}") == text.format(f"jo.{ANN}")
    assert redaction.redact_id(text.format(f"jo{ANN}")) == text.format(f"jo{ANN}")


@pytest.mark.parametrize(
    "text",
    [
        f"https://example.com/?email={quote(ANN)}&x=1",
        f"https://example.com/?next=%3Femail%3D{quote(ANN)}",
        f"https://example.com/?next={quote(quote('?email=' + quote(ANN)))}",
        "bounce+ann+news=example.com@bounces.example.org",
        "bounces-123-ann+news=example.com@example.org",
        "ann&#43;news&#64;example.com",
        "ann&#x2b;news&commat;example.com",
        "=3Cann+news=40example.com=3E",
    ],
)
def test_an_address_is_found_in_an_encoding(text: str) -> None:
    redacted = redact(text)

    assert FORM in redacted
    assert not re.search("ann|news", redacted)


@pytest.mark.parametrize(
    "text",
    [
        "joann+news@example.com",
        "jo.ann+news@example.com",
        "jo-ann+news@example.com",
        "x_ann+news@example.com",
        "o'ann+news@example.com",
        "_ann+news@example.com",
        "x%2Bann%2Bnews%40example.com",
        "ann+news@example.com.au",
        "ann+news@example.community",
        "ann+news@example.com-mail.org",
        "ann+news@examplexcom",
        "annnnews@example.com",
        "ann@example.com",
        "éann+news@example.com",
    ],
)
def test_nobody_else_is_touched(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "address", ["a_b%c@example.com", "a.b@example.com", 'x"y@example.com', "jös@exämple.com", "*@x.org"]
)
def test_a_character_with_a_meaning_of_its_own_means_only_itself(address: str) -> None:
    wild = address.replace("_", "x").replace("%", "x").replace(".b", "xb").replace("*", "xx")

    assert redact(f"<{address}>", address) == f"<{FORM}>"
    assert redact(json.dumps({"to": address}), address) == json.dumps({"to": FORM})
    assert wild == address or redact(f"<{wild}>", address) == f"<{wild}>"


@pytest.mark.parametrize("escaped", ["%5C", "%255C", "&#92;", "&bsol;", "=5C", "\\", "\\\\", "\\u005c"])
def test_a_backslash_of_a_quoted_name_is_found_as_often_as_it_is_doubled(escaped: str) -> None:
    address = r'"a\\b"@example.com'

    assert redact(f"<a{escaped}b@example.com>", address) == f"<{FORM}>"
    assert redact(f"<a{escaped * 2}b@example.com>", address) == f"<{FORM}>"
    assert redact("<ab@example.com>", address) == "<ab@example.com>"


def test_the_address_of_an_owner_is_kept_without_a_pattern_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = f"{'ß' * 200}.{ANN}"
    redaction = Redaction(ANN, FORM)
    monkeypatch.setattr("mailfold.redaction.exactly", None)

    redacted = redaction.redact_id(f"/{quote(owner)}/{owner.upper()}/{ANN}/", owner=owner)

    assert redacted == f"/{quote(owner)}/{owner.upper()}/{FORM}/"


def test_json_keeps_its_shape_and_its_numbers() -> None:
    inner = json.dumps({"to": [ANN, "bob@example.com"], "line": f"first\n{ANN}"})
    numbers = '"n": 1.10, "big": 12345678901234567890.123456789'
    text = f'{{{numbers}, "to": "ann\\u002bnews\\u0040example.com", "in": {json.dumps(inner)}}}'

    redacted = redact(text)

    assert numbers in redacted
    parsed = json.loads(redacted)
    assert parsed["to"] == FORM
    assert json.loads(parsed["in"]) == {"to": [FORM, "bob@example.com"], "line": f"first\n{FORM}"}


def test_the_end_of_a_line_is_no_letter_of_the_address() -> None:
    text = json.dumps({"note": "line\nann@example.com"})

    assert redact(text, "nann@example.com") == text
    assert json.loads(redact(text, "ann@example.com")) == {"note": f"line\n{FORM}"}


def test_what_only_looks_like_json_is_a_text() -> None:
    assert redact(f'{{"cut off": "{ANN}') == f'{{"cut off": "{FORM}'
    assert redact(f"{'[' * 100_000}{ANN}").endswith(FORM)


def _samples() -> list[object]:
    return [
        pytest.param(name, raw, id=f"{name}-{kind}")
        for name in sorted(REGISTRY)
        for kind, raw in sampler(name).SAMPLES.items()
    ]


@pytest.mark.parametrize(("name", "raw"), _samples())
def test_an_erased_raw_is_still_read_as_the_same_event_of_the_erased_form(name: str, raw: Raw) -> None:
    source = Source(name=name, provider=name, options=sampler(name).OPTIONS)
    headers = dict.fromkeys(REGISTRY[name].headers, "id-1")
    origin = Origin(source=source, received_at=datetime(2026, 1, 1, tzinfo=UTC), headers=headers)
    before = REGISTRY[name].parse(raw, origin)

    for person in {event.recipient for event in before if event.recipient}:
        redacted = json.loads(redact(json.dumps(raw), person))
        after = REGISTRY[name].parse(redacted, origin)

        assert person not in json.dumps(redacted).lower()
        assert [event.recipient for event in after] == [
            FORM if event.recipient == person else event.recipient for event in before
        ]
        assert [(event.type, event.effect, event.occurred_at, event.message_id) for event in after] == [
            (event.type, event.effect, event.occurred_at, event.message_id) for event in before
        ]
