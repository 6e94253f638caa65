"""The documented events: every field is described, none can be added in silence, and the examples are real ones."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mailfold.bus import SOURCE
from mailfold.events import BounceClass, EventType
from mailfold.steps.publish import REASON_CHARACTERS, VERSION
from tests.support.schema import faults

DOCS = Path(__file__).parents[2] / "docs"
SCHEMAS = {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in DOCS.glob("events/*.json")}
PAGE = (DOCS / "publish.md").read_text()
EXAMPLES = [
    example
    for block in re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    if "detail" in (example := json.loads(block)) and isinstance(example["detail-type"], str)
]


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


#: A word that is not known here would be a slip: a validator passes over what it does not know.
WORDS = {
    *("$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum", "oneOf", "properties"),
    *("required", "additionalProperties", "items", "minItems", "minimum", "maxLength", "pattern", "format"),
}


def words(schema: Any) -> Iterator[str]:
    for word, wanted in schema.items():
        yield word
        named = wanted.values() if word in ("properties", "$defs") else wanted if word == "oneOf" else [wanted]
        for part in named:
            if isinstance(part, dict):
                yield from words(part)


@pytest.fixture(params=SCHEMAS)
def schema(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(SCHEMAS[request.param])


def test_there_is_one_for_each_topic_that_the_statements_announce() -> None:
    folder = Path(__file__).parents[2] / "layers/mailfold/python/mailfold/store/sql"
    statements = "".join((folder / f"{name}.sql").read_text() for name in ("fold", "sweep", "decide_manually"))
    topics = set(re.findall(r"'(status_changed|\w+_suppressed|suppression_\w+)'", statements))

    assert {topic.replace("_", "-") for topic in topics} == SCHEMAS.keys()
    assert {schema["title"] for schema in SCHEMAS.values()} == {topic.replace("_", " ") for topic in topics}


def test_no_object_takes_a_field_that_is_not_described_or_lacks_one_that_is(schema: dict[str, Any]) -> None:
    for found in objects(schema):
        assert found["additionalProperties"] is False
        assert sorted(found["required"]) == sorted(found["properties"])
        assert all("description" in field or "const" in field for field in found["properties"].values())


def test_every_word_is_one_of_json_schema(schema: dict[str, Any]) -> None:
    assert set(words(schema)) <= WORDS


def test_it_knows_the_version_the_types_and_the_limits_of_the_code(schema: dict[str, Any]) -> None:
    text = json.dumps(schema)

    assert schema["properties"]["version"]["const"] == VERSION
    assert schema["$id"].endswith(f":{VERSION}")
    for found in objects(schema):
        fields = found["properties"]
        if "bounce_class" in fields:
            assert fields["type"]["enum"] == [str(kind) for kind in EventType]
            assert fields["bounce_class"]["enum"] == [*(str(kind) for kind in BounceClass), None]
    assert set(re.findall(r'"maxLength": (\d+)', text)) <= {str(REASON_CHARACTERS)}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["detail-type"])
def test_each_example_of_the_page_is_as_its_schema_says(example: dict[str, Any]) -> None:
    schema = SCHEMAS[example["detail-type"].replace(" ", "-")]

    assert example["source"] == SOURCE
    assert faults(example["detail"], schema) == []


def test_the_page_has_an_example_of_each() -> None:
    assert {example["detail-type"].replace(" ", "-") for example in EXAMPLES} == SCHEMAS.keys()


def places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from places(inside, (*path, name))


def reach(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["detail-type"])
def test_whatever_is_added_taken_away_or_of_another_type_is_noticed(example: dict[str, Any]) -> None:
    schema, detail = SCHEMAS[example["detail-type"].replace(" ", "-")], example["detail"]

    for path in places(detail):
        if isinstance(reach(detail, path), dict):
            richer = copy.deepcopy(detail)
            reach(richer, path)["new"] = 1
            assert faults(richer, schema), f"{path}: a new field"
        if path:
            poorer, other = copy.deepcopy(detail), copy.deepcopy(detail)
            del reach(poorer, path[:-1])[path[-1]]
            reach(other, path[:-1])[path[-1]] = 1.5
            assert faults(poorer, schema), f"{path}: taken away"
            assert faults(other, schema), f"{path}: of another type"
