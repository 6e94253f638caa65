"""What erasing an address and proving it cost on hostile text grows in step with the text, and so does the address."""

import json
from collections.abc import Callable

import pytest

from mailfold.redaction import Redaction
from mailfold.spellings import exactly, in_return_path, loosely
from mailfold.steps.operate.erase_proof import Search
from mailfold.unescaping import decoded
from tests.support.growth import grows_in_step

ANN = "ann+news@mail.example.com"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
#: Hostile texts for any address: the address, its parts and what may stand between them, in turns.
AROUND_AN_ADDRESS = [
    *("{whole}", "{whole} ", "{whole}.", "<{whole}>", "Ann <{whole}>,", "{path}", "{path}.", "{name}", "{name}@"),
    *("{name}(", "{name} ", "{name}@ ", "{name}\\", '{name}"', '"{name}', '"{name}"@', "{name} at ", "{name}[at]"),
    *("{name}@{begun} ", "{name}@{begun}.", "{name}(dot)", "x.{whole}", "x%2E{whole}", "1-{path}-"),
]
ANYWHERE = [
    *(" ", "\t", "\n", "@", " @", " at", " at ", "[at]", "dot ", "(dot)", "[dot] ", "\\", '\\"', "\\n", "\\\\u0040"),
    *("%", "%25", "%2540", "&", "&amp;", "&#", "&#9", "&#0", "=", "=4", "=40", "(", "()", "( )", '"', '"a"', "a"),
    *("a.", "a-", "._", ".a@", "<", "< ", "a <", ",", ", ", ",a", ',"', '," ', '"a" <', ',"a" <', "<a at "),
    *("[", '["', '{"a":'),
    *("é", "ß", "\u0301", "\u0301\u0316", "\uff9e\u0301", "\x00"),
]
ADDRESSES = [ANN, "a.b.c.d.e.f@x.y.org", r'" \\a"@x.org', "jöß@exämple.com"]


def hostile(address: str) -> list[str]:
    name, _, domain = address.rpartition("@")
    words = {"whole": address, "name": name.strip('"'), "begun": domain[:-1], "path": f"{name}={domain}"}
    return [*(atom.format(**words) for atom in AROUND_AN_ADDRESS), *ANYWHERE]


def text_of(atom: str, length: int) -> str:
    return (atom * (length // len(atom) + 1))[:length]


def erasing(address: str) -> dict[str, Callable[[str], object]]:
    redaction, search = Redaction(address, "form"), Search(address)
    return {
        "redact": redaction.redact,
        "redact in JSON": lambda text: redaction.redact(json.dumps({"text": text})),
        "redact_id": lambda text: redaction.redact_id(text, owner=f"jo.{address}"),
        "look_at": lambda text: search.look_at({"payload": text}),
        "look_at an id": lambda text: search.look_at({"message_id": text, "recipient": f"jo.{address}"}),
    }


@pytest.mark.parametrize("address", ADDRESSES)
def test_erasing_costs_no_more_than_the_text_is_long(address: str) -> None:
    for name, work in erasing(address).items():
        for atom in hostile(address):

            def on_a_text(length: int, work: Callable[[str], object] = work, atom: str = atom) -> None:
                work(text_of(atom, length))

            assert grows_in_step(on_a_text), f"{name} of {address} in {atom!r}"


def _dotted(number: int) -> tuple[str, str]:
    return ".".join(LETTERS[:number]) + "@x.org", ("(dot)" * 4).join(LETTERS[:number]) * 20


def _spaced(number: int) -> tuple[str, str]:
    return f'"{" ".join("." * number)}"@x.org', ("[dot]" + " " * 5) * 60


def _backslashed(number: int) -> tuple[str, str]:
    return '"' + "\\\\" * number + '"@x.org', "\\" * 2_000


def _quoted(number: int) -> tuple[str, str]:
    return '"' + '\\\\\\"' * number + '"@x.org', ("\\" * 9 + '"') * 60


@pytest.mark.parametrize(
    ("made", "short", "long"), [(_dotted, 4, 8), (_spaced, 2, 5), (_backslashed, 2, 3), (_quoted, 2, 4)]
)
def test_no_sign_of_the_address_multiplies_what_those_before_it_cost(
    made: Callable[[int], tuple[str, str]], short: int, long: int
) -> None:
    texts = {number: made(number) for number in (short, long)}
    redactions = {number: Redaction(address, "form") for number, (address, _) in texts.items()}

    assert grows_in_step(lambda number: redactions[number].redact(texts[number][1]), short=short, long=long)


@pytest.mark.parametrize("write", [exactly, in_return_path, loosely])
@pytest.mark.parametrize("letter", ["a", ".a", "ü", "ß", "ffi", "st", "ΐ", "\\", "+"])
def test_a_pattern_is_as_long_as_the_address(write: Callable[[str], str], letter: str) -> None:
    short, long = (write(f'"{text_of(letter, length)}"@{text_of("ü", length // 25)}.org') for length in (75, 300))

    # Each letter in its cases, each of those with its escapes, and all of that for what the letter is taken apart.
    assert len(long) < min(5 * len(short), 3_000 * 300)


def test_a_number_of_thousands_of_digits_is_no_character() -> None:
    nines, zeros = "&#" + "9" * 5_000, "&#" + "0" * 5_000

    assert decoded(f"{nines};") == "\ufffd"
    assert decoded(f"ann{zeros}64;example.com") == "ann@example.com"
    assert decoded(f"{zeros};") == decoded("&#0;")
    assert Search(ANN).look_at({"payload": f"{nines} {ANN}"}) == (True, False)


def test_marks_in_a_row_do_not_hide_an_address() -> None:
    look = Search(ANN).look_at

    assert look({"payload": "a" + "\u0301\u0316" * 200 + f" {ANN}"}) == (True, False)
    assert look({"payload": "\u0301" * 200}) == (False, False)
