"""The local template differs from the deployed one by the listed edits and by nothing else."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.assembly import read_template
from local.changes import ABSENT, Place, apply
from local.edits import EDITS, edited
from local.options import ROOT

PLACE = Place(
    database_url=lambda role: f"postgresql://{role}@here/mailfold",
    dependencies_key="here.zip",
    samples={"sendgrid": {"never": "used"}, "postal": {"option": 1}},
)
MISSING = object()


@pytest.fixture(scope="module")
def template(assembly: Path) -> dict[str, Any]:
    return read_template(assembly)


def differences(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Name each place where two templates differ, as deep as possible."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            yield from differences(before.get(key, MISSING), after.get(key, MISSING), (*path, key))
    elif before != after:
        yield path


def of_type(template: dict[str, Any], pattern: str) -> dict[str, Any]:
    return {name: found for name, found in template["Resources"].items() if re.fullmatch(pattern, found["Type"])}


def explained(template: dict[str, Any]) -> set[tuple[str, ...]]:
    """Apply the rows one by one, manually, and note which places each one names."""
    named: set[tuple[str, ...]] = set()
    current = json.loads(json.dumps(template))
    for edit in EDITS:
        found = list(edit.changes(current, PLACE))
        named |= {tuple(part for part in change.path if isinstance(part, str)) for change in found}
        for change in reversed(found):
            apply(current, change)
    return named


def unexplained(template: dict[str, Any], local: dict[str, Any]) -> list[tuple[str, ...]]:
    named = explained(template)
    return [
        path
        for path in differences(template, local)
        if not any(path[: len(name)] == name or name[: len(path)] == path for name in named)
    ]


def test_every_difference_is_in_the_table(template: dict[str, Any]) -> None:
    assert unexplained(template, edited(template, PLACE)) == []


def test_a_difference_outside_the_table_is_noticed(template: dict[str, Any]) -> None:
    local = edited(template, PLACE)
    name, queue = next(iter(of_type(local, "AWS::SQS::Queue").items()))
    queue["Properties"]["MessageRetentionPeriod"] = 60

    assert unexplained(template, local) == [("Resources", name, "Properties", "MessageRetentionPeriod")]


def test_no_row_is_idle(template: dict[str, Any]) -> None:
    current = template
    for edit in EDITS:
        found = list(edit.changes(current, PLACE))
        assert found, f"{edit.name} changes nothing"
        current = json.loads(json.dumps(current))
        for change in reversed(found):
            apply(current, change)


def test_what_the_rows_promise(template: dict[str, Any]) -> None:
    local = edited(template, PLACE)

    assert not of_type(local, r"AWS::EC2::.*|AWS::RDS::.*|Custom::.*")
    functions = [found["Properties"] for found in of_type(local, "AWS::Lambda::Function").values()]
    assert not any("VpcConfig" in function for function in functions)
    variables = [function.get("Environment", {}).get("Variables", {}) for function in functions]
    urls = {each["POWERTOOLS_SERVICE_NAME"]: each["DATABASE_URL"] for each in variables if "DATABASE_URL" in each}
    assert urls == {
        "process": "postgresql://mailfold_process@here/mailfold",
        "prune": "postgresql://mailfold_prune@here/mailfold",
        "sweep": "postgresql://mailfold_sweep@here/mailfold",
        "watch": "postgresql://mailfold_watch@here/mailfold",
        "operate": "postgresql://mailfold_operate@here/mailfold",
        "migrate": "postgresql://mailfold_owner@here/mailfold",
        "query": "postgresql://mailfold_query@here/mailfold",
    }
    sources = [json.loads(each["SOURCES"]) for each in variables if "SOURCES" in each]
    # receive, process, watch, operate and query.
    assert [each["postal"] for each in sources] == [{"provider": "postal", "option": 1}] * 5
    assert [each["sendgrid"] for each in sources] == [{"provider": "sendgrid"}] * 5
    keys = {found["Properties"]["Content"]["S3Key"] for found in of_type(local, "AWS::Lambda::LayerVersion").values()}
    assert "here.zip" in keys
    assert len(keys) == 2


def test_nothing_refers_to_what_was_left_out(template: dict[str, Any]) -> None:
    local = edited(template, PLACE)
    gone = template["Resources"].keys() - local["Resources"].keys()

    text = json.dumps([local["Resources"], local["Outputs"]])

    assert gone
    assert [name for name in gone if re.search(rf'"{name}"|\$\{{{name}[.}}]', text)] == []
    assert ABSENT in text


def test_the_template_itself_is_left_alone(template: dict[str, Any]) -> None:
    before = json.dumps(template)

    edited(template, PLACE)

    assert json.dumps(template) == before


def test_the_documentation_lists_exactly_the_table() -> None:
    page = (ROOT / "docs/local.md").read_text()

    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page.partition("## The edits")[2].partition("\n## ")[0], re.MULTILINE
    )

    assert rows[0] == ("edit", "what", "why")
    assert rows[1:] == [(edit.name, edit.what, edit.why) for edit in EDITS]
