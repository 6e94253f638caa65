"""Strict JSON in, ASCII JSON out, and how values that Postgres cannot hold are kept."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from mailfold.errors import MalformedPayload

_UNSTORABLE_CHARACTER = re.compile("[\x00\ud800-\udfff]")


def loads(body: bytes | str) -> Any:
    """Parse JSON; anything else, however hostile, is MalformedPayload."""
    try:
        text = body.decode("utf-8") if isinstance(body, bytes) else body
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        raise MalformedPayload("the body is not JSON") from None


def dumps(value: Any) -> str:
    """Serialise compactly in ASCII, which is inside the character set that SQS accepts."""
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        raise MalformedPayload("the body is nested too deep") from None


def storable_text(text: str) -> str:
    """Return text that a Postgres text column can hold; NUL and lone surrogates show as U+FFFD."""
    return _UNSTORABLE_CHARACTER.sub("\ufffd", text)


def may_be_unstorable(json_text: str) -> bool:
    """Tell quickly whether a JSON text could hold a character that Postgres refuses; a false alarm costs only time."""
    return "\\u" in json_text and ("\\u0000" in json_text or "\\ud" in json_text or "\\uD" in json_text)


def storable_raw(raw: Mapping[str, Any]) -> Any:
    """Return raw itself, or its JSON text where jsonb cannot hold it.

    jsonb refuses NUL and lone surrogates. Such a payload is stored as a JSON *string* that holds the exact JSON text:
    nothing is lost or changed, and `restore_raw` is the way back.
    """
    text = dumps(raw)
    return text if _unstorable(text) else raw


def restore_raw(payload: Any) -> Any:
    """Return the provider's own words from what `storable_raw` gave to the store."""
    return json.loads(payload) if isinstance(payload, str) else payload


def _unstorable(ascii_json: str) -> bool:
    # A literal backslash before "u0000" is caught as well: without need, but without loss.
    if "\\u0000" in ascii_json:
        return True
    return "\\ud" in ascii_json and _has_lone_surrogate(ascii_json)


def _has_lone_surrogate(ascii_json: str) -> bool:
    return _UNSTORABLE_CHARACTER.search(json.dumps(json.loads(ascii_json), ensure_ascii=False)) is not None


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number that is out of range")
    return number


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# json.loads and json.dumps would make these again in every call, which is a third of the time that a small event takes.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
# What was parsed from JSON holds no circle, and one that did would be refused as nested too deep.
_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False)
