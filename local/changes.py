"""Changes to a CloudFormation template: where they are, what they are, and how to find the places."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

Template = dict[str, Any]
Path = tuple[str | int, ...]

#: What stands where the template refers to a resource that is not there.
ABSENT = "not-on-this-machine"


@dataclass(frozen=True, kw_only=True)
class Place:
    """What this machine has in place of what was left out."""

    #: role -> where to connect as this role
    database_url: Callable[[str], str]
    #: The key of the third-party layer that was built for this machine, in the bucket of the assets.
    dependencies_key: str
    #: provider -> the settings of a source of it
    samples: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One place in the template: a new value, or None to take it out."""

    path: Path
    value: Any = None


Finder = Callable[[Template, Place], Iterator[Change]]


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
                old = look_up(resource["Properties"], path)
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


def look_up(node: Any, path: tuple[str, ...]) -> Any:
    """Return what stands at a path of keys, an empty object where nothing does."""
    for key in path:
        node = node.get(key, {})
    return node


def apply(template: Template, found: Change) -> None:
    """Make one change."""
    node: Any = template
    for key in found.path[:-1]:
        node = node[key]
    if found.value is None:
        del node[found.path[-1]]
    else:
        node[found.path[-1]] = found.value
