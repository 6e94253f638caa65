"""What the template of the deployed stack must lose or change to run on one machine: this table and nothing else."""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

Template = dict[str, Any]
Path = tuple[str | int, ...]

#: What stands where the template refers to a resource that is not there.
ABSENT = "not-on-this-machine"
#: The id of the HTTP API, which is part of its local address.
API_ID = "mailfold"
VISIBILITY_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class Place:
    """What this machine has in place of what was left out."""

    #: role -> where to connect as this role
    database_url: Callable[[str], str]
    #: The key of the third-party layer that was built for this machine, in the bucket of the assets.
    dependencies_key: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """One place in the template: a new value, or None to take it out."""

    path: Path
    value: Any = None


Finder = Callable[[Template, Place], Iterator[Change]]


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One row of the table."""

    name: str
    what: str
    why: str
    changes: Finder


def leave_out(*types: str) -> Finder:
    """Take out all resources of these types."""

    def find(template: Template, _: Place) -> Iterator[Change]:
        for logical_id, resource in template["Resources"].items():
            if any(fnmatchcase(resource["Type"], wanted) for wanted in types):
                yield Change(path=("Resources", logical_id))

    return find


def change(
    wanted: str, *path: str, to: Callable[[Any, Place], Any], where: Callable[[Template], bool] = lambda _: True
) -> Finder:
    """Change one property of all resources of one type that `where` admits."""

    def find(template: Template, place: Place) -> Iterator[Change]:
        for logical_id, resource in template["Resources"].items():
            if resource["Type"] == wanted and where(resource["Properties"]):
                old = _look_up(resource["Properties"], path)
                yield Change(path=("Resources", logical_id, "Properties", *path), value=to(old, place))

    return find


def references_to_nothing(template: Template, _: Place) -> Iterator[Change]:
    """Find what refers to a resource that is no longer there."""
    there = template["Resources"].keys() | template.get("Parameters", {}).keys()
    for section in ("Resources", "Outputs"):
        for path, target in _references(template[section], (section,)):
            if target not in there and not target.startswith("AWS::"):
                yield Change(path=path, value=None if "DependsOn" in path else ABSENT)


def _references(node: Any, path: Path) -> Iterator[tuple[Path, str]]:
    match node:
        case {"Ref": str(target)} | {"Fn::GetAtt": [str(target), *_]}:
            yield path, target
        case dict():
            for key, value in node.items():
                yield from _depended(value, (*path, key)) if key == "DependsOn" else _references(value, (*path, key))
        case list():
            for index, value in enumerate(node):
                yield from _references(value, (*path, index))


def _depended(node: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(node, str):
        yield path, node
    else:
        yield from (((*path, index), target) for index, target in enumerate(node))


def _look_up(node: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        node = node.get(key, {})
    return node


def _same_role_here(url: Any, place: Place) -> str:
    found = re.match(r"postgresql://(\w+)@", url["Fn::Join"][1][0])
    assert found, "the template's DATABASE_URL begins with its role"
    return place.database_url(found[1])


EDITS = (
    Edit(
        name="network",
        what="`AWS::EC2::*` is left out",
        why="the emulator knows only a part of it, and one machine has no subnets to keep apart",
        changes=leave_out("AWS::EC2::*"),
    ),
    Edit(
        name="no VPC",
        what="`VpcConfig` of the functions is left out",
        why="it names that network",
        changes=change("AWS::Lambda::Function", "VpcConfig", to=lambda *_: None, where=lambda it: "VpcConfig" in it),
    ),
    Edit(
        name="database",
        what="`AWS::RDS::*` is left out",
        why="a real Postgres runs beside the emulator, which has none without Docker",
        changes=leave_out("AWS::RDS::*"),
    ),
    Edit(
        name="database address",
        what="`DATABASE_URL` names that Postgres, with the same role and database",
        why="RDS, its certificate and its IAM tokens are not here",
        changes=change(
            "AWS::Lambda::Function",
            "Environment",
            "Variables",
            "DATABASE_URL",
            to=_same_role_here,
            where=lambda it: "DATABASE_URL" in _look_up(it, ("Environment", "Variables")),
        ),
    ),
    Edit(
        name="migrate trigger",
        what="`Custom::Trigger` is left out; the runner invokes migrate once after the deploy instead",
        why="its provider is a Node.js function, and no Node.js need be installed",
        changes=leave_out("Custom::Trigger"),
    ),
    Edit(
        name="third-party layer",
        what="the layer of third-party packages holds wheels for this machine and its Python",
        why="the deployed one holds wheels for Lambda's processor and Python",
        changes=change(
            "AWS::Lambda::LayerVersion",
            "Content",
            "S3Key",
            to=lambda _, place: place.dependencies_key,
            where=lambda it: str(it.get("Description")).startswith("Third-party"),
        ),
    ),
    Edit(
        name="visibility",
        what=f"`VisibilityTimeout` of the queue is {VISIBILITY_SECONDS} seconds",
        why="records of a function that was killed come back while one watches, not after six minutes",
        changes=change(
            "AWS::SQS::Queue",
            "VisibilityTimeout",
            to=lambda *_: VISIBILITY_SECONDS,
            where=lambda it: "RedrivePolicy" in it,
        ),
    ),
    Edit(
        name="API id",
        what=f"the HTTP API has the tag `ms-custom-id: {API_ID}`",
        why="by this tag the emulator gives it a fixed id, so that the address of the webhooks stays the same",
        changes=change("AWS::ApiGatewayV2::Api", "Tags", to=lambda old, _: {**old, "ms-custom-id": API_ID}),
    ),
    Edit(
        name="references",
        what=f"references to what was left out read `{ABSENT}`, and `DependsOn` does not name it",
        why="the emulator refuses a template that refers to nothing",
        changes=references_to_nothing,
    ),
)


def edited(template: Template, place: Place) -> Template:
    """Return the template with every row of the table applied, in order."""
    result = deepcopy(template)
    for edit in EDITS:
        # Backwards, so that taking an item out of a list does not move the ones that are still to be changed.
        for found in reversed(list(edit.changes(result, place))):
            _apply(result, found)
    return result


def _apply(template: Template, found: Change) -> None:
    node: Any = template
    for key in found.path[:-1]:
        node = node[key]
    if found.value is None:
        del node[found.path[-1]]
    else:
        node[found.path[-1]] = found.value
