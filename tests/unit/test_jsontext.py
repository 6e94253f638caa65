"""JSON: strict on the way in, ASCII on the way out, lossless into the store."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailfold.errors import MalformedPayload
from mailfold.jsontext import dumps, loads, may_be_unstorable, restore_raw, storable_raw, storable_text

#: Any character JSON can escape, the ones that Postgres refuses among them.
TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from("\x00\ud800\udfff\\u"))
RAW = st.dictionaries(TEXT, st.recursive(st.none() | st.booleans() | st.integers() | TEXT, st.lists), max_size=4)
POISON = {
    "a NUL": {"key": "a\x00b"},
    "a NUL in a key": {"a\x00b": 1},
    "a high surrogate": {"key": "\ud800"},
    "a low surrogate": {"key": "\udfff"},
    "surrogates the wrong way round": {"key": "\udc00\ud800"},
    "a surrogate deep inside": {"key": [{"key": ["\udabc"]}]},
}


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"\x00",
        b"{",
        b"[NaN]",
        b"[Infinity]",
        b"[-Infinity]",
        b"[1e999]",
        b"[-1e999]",
        b"[" + b"9" * 5_000 + b"]",
        b"[" * 100_000,
        b'["\xff"]',
        '["a"]'.encode("utf-16"),
        b"\xef\xbb\xbf[]",
        b'["a\nb"]',
        b"[] []",
    ],
    ids=lambda body: repr(body[:16]),
)
def test_what_is_not_strict_json_is_malformed_and_nothing_else(hostile: bytes) -> None:
    with pytest.raises(MalformedPayload):
        loads(hostile)


@given(st.binary())
def test_any_bytes_are_json_or_malformed(body: bytes) -> None:
    try:
        value = loads(body)
    except MalformedPayload:
        return

    assert loads(dumps(value)) == value


def test_a_malformed_body_is_never_quoted() -> None:
    with pytest.raises(MalformedPayload) as refusal:
        loads(b'{"email":"ann@example.com",')

    assert "ann" not in str(refusal.value)
    assert refusal.value.__cause__ is None


@given(RAW)
def test_output_is_ascii_and_reads_back_the_same(raw: dict[str, object]) -> None:
    text = dumps(raw)

    assert text.isascii()
    assert json.loads(text) == raw


def test_nesting_too_deep_to_write_is_malformed() -> None:
    deep: list[object] = []
    for _ in range(200_000):
        deep = [deep]

    with pytest.raises(MalformedPayload):
        dumps(deep)

    while deep:
        deep = deep.pop()  # type: ignore[assignment]  # unwound manually: freeing it in one go is recursive as well


def test_a_circle_is_malformed() -> None:
    circle: dict[str, object] = {}
    circle["itself"] = circle

    with pytest.raises(MalformedPayload):
        dumps(circle)

    circle.clear()


@pytest.mark.parametrize("hostile", [b'{"a":{"b":', b'{"a":[1e999]}', b"[" * 100_000], ids=lambda body: repr(body[:9]))
def test_a_malformed_body_leaves_nothing_behind(hostile: bytes) -> None:
    with pytest.raises(MalformedPayload):
        loads(hostile)

    assert loads(b'{"a":{"b":1.5}}') == {"a": {"b": 1.5}}


@given(RAW)
def test_output_is_compact(raw: dict[str, object]) -> None:
    assert dumps(raw) == json.dumps(raw, separators=(",", ":"))


@pytest.mark.parametrize("raw", POISON.values(), ids=POISON)
def test_what_jsonb_refuses_is_kept_as_its_exact_text(raw: dict[str, object]) -> None:
    stored = storable_raw(raw)

    assert isinstance(stored, str)
    assert stored == dumps(raw)
    assert restore_raw(stored) == raw


@pytest.mark.parametrize("raw", [{"a": "é"}, {"a": "😀"}, {"a": [1, None]}, {}], ids=str)
def test_what_jsonb_can_hold_is_kept_as_it_is(raw: dict[str, object]) -> None:
    assert storable_raw(raw) is raw
    assert restore_raw(raw) == raw


@given(RAW)
def test_the_quick_look_misses_nothing_that_needs_care(raw: dict[str, object]) -> None:
    stored = storable_raw(raw)

    assert restore_raw(stored) == raw
    if stored is not raw:
        assert may_be_unstorable(dumps(raw))
        assert may_be_unstorable(dumps(raw).replace("\\ud", "\\uD"))
        assert may_be_unstorable(json.dumps({"Message": dumps(raw)}))


@given(TEXT)
def test_storable_text_encodes_and_keeps_its_length(text: str) -> None:
    stored = storable_text(text)

    stored.encode("utf-8")
    assert "\x00" not in stored
    assert len(stored) == len(text)
    assert all(old == new or new == "\ufffd" for old, new in zip(text, stored, strict=True))
