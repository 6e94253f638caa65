"""The reading aids of the adapters: whatever a provider writes, a value or a clear no."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailfold.errors import MalformedPayload, UnparseableEvent
from mailfold.providers.base import address_of, object_of, objects_of, require, split_json, text_of, texts_of, time_of
from mailfold.request import Source

SOURCE = Source(name="main", provider="sendgrid")
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (1767225600, NEW_YEAR),
        ("1767225600", NEW_YEAR),
        (1767225600.25, NEW_YEAR + timedelta(milliseconds=250)),
        ("1767225600.25", NEW_YEAR + timedelta(milliseconds=250)),
        (1767225600123, NEW_YEAR + timedelta(milliseconds=123)),
        ("1767225600123", NEW_YEAR + timedelta(milliseconds=123)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00Z", NEW_YEAR),
        ("2026-01-01T00:00:00.123Z", NEW_YEAR + timedelta(milliseconds=123)),
        ("2026-01-01T00:00:00.1234567Z", NEW_YEAR + timedelta(microseconds=123_456)),
        ("2026-01-01T02:00:00+02:00", NEW_YEAR),
        ("2025-12-31T19:00:00.000-0500", NEW_YEAR),
        ("2026-01-01T00:00:00", NEW_YEAR),
        ("2026-01-01 00:00:00", NEW_YEAR),
        ("2026-01-01", NEW_YEAR),
    ],
    ids=repr,
)
def test_every_way_to_write_a_time_is_read_in_utc(value: Any, moment: datetime) -> None:
    read = time_of(value)

    assert read == moment
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, [], {}, "", "soon", "1.2.3", "²", "-1767225600", "2026-13-01T00:00:00Z"),
        *(10**400, 1e300, "9" * 400, -(10**20), "0001-01-01T00:00:00+23:59"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_time_that_is_none_makes_the_event_unparseable(value: Any) -> None:
    with pytest.raises(UnparseableEvent):
        time_of(value)


@given(JSON)
def test_any_value_is_a_time_or_unparseable(value: Any) -> None:
    try:
        moment = time_of(value)
    except UnparseableEvent:
        return

    assert moment.utcoffset() == timedelta(0)
    assert moment.astimezone(timezone(timedelta(hours=-1))) == moment


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("Ann@Example.COM", "ann@example.com"),
        (" ann@example.com ", "ann@example.com"),
        ("Ann <Ann@Example.com>", "ann@example.com"),
        ('"Ann, <b>" <ann@example.com> ', "ann@example.com"),
        ("", None),
        ("  ", None),
        (None, None),
    ],
)
def test_an_address_is_bare_and_lower_case(written: str | None, address: str | None) -> None:
    assert address_of(written) == address


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({"a": "x", "b": "y"}, "x"),
        ({"a": "", "b": "y"}, "y"),
        ({"a": None, "b": "y"}, "y"),
        ({"a": True, "b": "y"}, "y"),
        ({"a": ["x"], "b": "y"}, "y"),
        ({"a": 0}, "0"),
        ({"a": 1.5}, "1.5"),
        ({}, None),
    ],
    ids=str,
)
def test_the_first_field_that_says_something_is_taken(raw: dict[str, Any], text: str | None) -> None:
    assert text_of(raw, "a", "b") == text


@given(st.dictionaries(st.just("a"), JSON))
def test_nested_values_are_there_in_their_shape_or_empty(raw: dict[str, Any]) -> None:
    assert isinstance(object_of(raw, "a"), dict)
    assert all(isinstance(item, dict) for item in objects_of(raw, "a"))
    assert all(isinstance(item, str) and item for item in texts_of(raw, "a"))


def test_what_is_required_is_there_or_the_event_is_set_aside() -> None:
    assert require("x", "id") == "x"
    with pytest.raises(UnparseableEvent, match="no id"):
        require(None, "id")


@pytest.mark.parametrize(
    ("body", "events"), [(b'{"a":1}', [{"a": 1}]), (b'[{"a":1},{}]', [{"a": 1}, {}]), (b"[]", [])], ids=ascii
)
def test_a_body_is_one_object_or_an_array_of_them(body: bytes, events: list[Any]) -> None:
    assert split_json(body, SOURCE) == events


@pytest.mark.parametrize("body", [b"", b"5", b"null", b'"a"', b"[1]", b"[{},[]]", b"[null]"], ids=ascii)
def test_a_body_of_another_shape_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedPayload):
        split_json(body, SOURCE)
