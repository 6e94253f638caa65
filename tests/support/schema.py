"""As much of JSON Schema 2020-12 as our own schemas use; a keyword that is not known here is an error."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

#: Words that say something to a reader only.
SILENT = {"$schema", "$id", "$defs", "title", "description"}
TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}


def faults(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, at: str = "$") -> Iterator[str]:
    """Name each place where a value is not what the schema asks for."""
    root = root or schema
    if "type" in schema and not _fits("type", schema["type"], value):
        yield f"{at}: {value!r} is not of type {schema['type']!r}"
        return
    for word, wanted in schema.items():
        if word not in SILENT:
            yield from (f"{at}: {fault}" for fault in _broken(word, wanted, value, root, at))


def _broken(word: str, wanted: Any, value: Any, root: dict[str, Any], at: str) -> Iterator[str]:
    match word:
        case "$ref":
            yield from faults(value, root["$defs"][wanted.removeprefix("#/$defs/")], root, at)
        case "oneOf":
            fitting = [one for one in wanted if not list(faults(value, one, root, at))]
            if len(fitting) != 1:
                yield f"fits {len(fitting)} of {len(wanted)} shapes"
        case "properties":
            for name in wanted.keys() & value.keys():
                yield from faults(value[name], wanted[name], root, f"{at}.{name}")
        case "items":
            for place, item in enumerate(value):
                yield from faults(item, wanted, root, f"{at}[{place}]")
        case "additionalProperties":
            assert wanted is False
        case _:
            if not _fits(word, wanted, value):
                yield f"{value!r} is not {word} {wanted!r}"
    if word == "properties" and (more := value.keys() - wanted.keys()):
        yield f"holds {sorted(more)} besides"


def _fits(word: str, wanted: Any, value: Any) -> bool:
    match word:
        case "type":
            kinds = wanted if isinstance(wanted, list) else [wanted]
            return type(value) in [TYPES[kind] for kind in kinds]
        case "const":
            return bool(value == wanted and type(value) is type(wanted))
        case "enum":
            return value in wanted
        case "required":
            return set(wanted) <= value.keys()
        case "minimum":
            return bool(value >= wanted)
        case "minItems":
            return len(value) >= wanted
        case "maxLength":
            return value is None or len(value) <= wanted
        case "pattern":
            return bool(re.search(wanted, value))
        case "format":
            assert wanted == "date-time"
            return datetime.fromisoformat(value).tzinfo is not None
        case _:
            raise NotImplementedError(word)
