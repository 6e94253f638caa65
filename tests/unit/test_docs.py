"""The documents speak of what is really there."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

from mailfold.providers import REGISTRY
from mailfold.providers.base import Provider
from mailfold.telemetry import METRICS

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"

FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(r"[\w-][\w.-]*(?:/[\w.-]+)*/?")
#: Files that only the repository has; a bare .json may as well be one that a command writes.
OURS = (".py", ".sql", ".md", ".in")

#: Where a reader looks a package up, unlike the host that some machine installs it from.
PUBLIC = {"pypi.org", "www.npmjs.com"}


@cache
def repository() -> frozenset[str]:
    """Every file and folder, relative to the root, but for what tools have made."""
    tops = [path for path in ROOT.iterdir() if not path.name.startswith(".") and path.name != "cdk.out"]
    inside = [path for top in tops if top.is_dir() for path in top.rglob("*") if "__pycache__" not in path.parts]
    return frozenset(path.relative_to(ROOT).as_posix() for path in [*tops, *inside])


DOCUMENTS = sorted(name for name in repository() if name.endswith(".md"))


def prose(text: str) -> str:
    return FENCED.sub("", text)


def code(text: str) -> Iterator[str]:
    """Every piece of inline code, and every line of the blocks."""
    yield from INLINE.findall(prose(text))
    for block in FENCED.findall(text):
        yield from (line.strip() for line in block.splitlines()[1:-1])


def anchor(title: str) -> str:
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def headings(text: str) -> set[str]:
    """The anchors of all headings."""
    return {anchor(title) for title in re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)}


def targets() -> set[str]:
    return set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def is_there(path: str) -> bool:
    wanted = path.rstrip("/")
    return any(name == wanted or name.endswith(f"/{wanted}") for name in repository())


def looks_like_ours(text: str) -> bool:
    if not PATH.fullmatch(text):
        return False
    return text.endswith(OURS) or ("/" in text and text.split("/")[0] in repository())


@pytest.fixture(params=DOCUMENTS)
def document(request: pytest.FixtureRequest) -> Path:
    return ROOT / str(request.param)


def test_readme_pages_and_registry_name_the_same_providers() -> None:
    rows = [line for line in README.read_text().splitlines() if line.startswith("|")]
    listed = re.findall(r"\(docs/providers/(\w+)\.md\)", "\n".join(rows))

    assert sorted(listed) == sorted(REGISTRY)
    assert {page.stem for page in (ROOT / "docs/providers").glob("*.md")} == REGISTRY.keys()


def test_each_make_command_exists(document: Path) -> None:
    named = {
        target for piece in code(document.read_text()) for target in re.findall(r"(?:^|&& )make ([a-z0-9]+)", piece)
    }

    assert named <= targets()


def test_each_relative_link_resolves(document: Path) -> None:
    broken = []
    for link in LINK.findall(prose(document.read_text())):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path) if path else document
        if not target.exists() or (anchor and anchor not in headings(target.read_text())):
            broken.append(link)

    assert broken == []


def test_each_path_exists(document: Path) -> None:
    named = [text for text in INLINE.findall(prose(document.read_text())) if looks_like_ours(text)]

    assert [path for path in named if not is_there(path)] == []


def test_nothing_tells_of_the_machine_it_was_written_on(document: Path) -> None:
    text = document.read_text()

    assert re.findall(r"(?<![\w.:/~-])/(?:work|home|root|opt|srv|mnt|Users)/\S*", text) == []
    hosts = set(re.findall(r"https?://([^/\s)]+)", text)) - PUBLIC
    assert [host for host in hosts if re.search("registry|mirror|artifact|nexus|proxy|pypi|npm", host)] == []


def test_readme_names_every_knob() -> None:
    knobs = json.loads((ROOT / "cdk.json").read_text())["context"]["mailfold"]
    named = set(INLINE.findall(prose(README.read_text())))

    assert knobs.keys() - named == set()


def test_each_dependency_has_its_reason() -> None:
    reasons = prose((ROOT / "docs/decisions/0002-dependencies.md").read_text())
    explained = {
        name.strip()
        for row in re.findall(r"^\| ([^|]+) \| [^|]+ \|$", reasons, re.MULTILINE)
        for name in row.split(",")
    }
    needed = {
        match.group()
        for folder in (".", "layers/dependencies", "cli", "infra", "local", "tests/tools", "bench")
        for line in (ROOT / folder / "requirements.in").read_text().splitlines()
        if (match := re.match(r"[\w-]+", line))
    }

    assert explained - {"package"} == needed


def test_operations_names_every_metric() -> None:
    named = set(INLINE.findall((ROOT / "docs/operations.md").read_text()))

    assert {metric for metrics in METRICS.values() for metric in metrics} - named == set()


def test_every_field_of_a_provider_is_explained() -> None:
    page = (ROOT / "docs/adding-a-provider.md").read_text()
    explained = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)

    assert sorted(explained) == sorted(field.name for field in fields(Provider))


def test_the_threat_model_names_tests_that_are_there() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)

    assert len(named) >= 15
    for path, test in named:
        source = (ROOT / path).read_text()
        assert f"def {test or 'test_'}" in source, f"{path}::{test}"
