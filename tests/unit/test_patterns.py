"""Every regular expression of the package, on hostile text: what it costs grows in step with the text.

The patterns are found in the source, so that one that is added tomorrow is tried as well.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import cli
import mailfold
from mailfold.redaction import _patterns_of
from mailfold.steps.operate.refold import _pattern
from mailfold.steps.query.routes import ROUTES
from mailfold.unescaping import _many_marks
from tests.support.growth import grows_in_step

Pattern = re.Pattern[Any]

PACKAGES = (mailfold, cli)
CALLS = {"compile", "match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
METHODS = {"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
#: What hostile text is made of: what patterns look for, alone and in turns.
ATOMS = [
    *(
        "<",
        ">",
        "@",
        "a@",
        "<a",
        "<a>",
        "<a> ",
        " ",
        "\t",
        "\n",
        "\r\n",
        ",",
        ";",
        ":",
        '"',
        "'",
        "''=",
        "\\",
        '\\"',
        '"\\',
    ),
    *(
        "a",
        "A",
        "7",
        "-",
        "-a",
        ".",
        "5.",
        "5.1.",
        "_",
        "=",
        "%",
        "%25",
        "%2525",
        "{",
        "[",
        "(",
        "a (",
        "a, ",
        "/",
        "x on ",
    ),
    *("x to ", "\x00", "\ud800", "é", "٣", "&#", "=40", "\\u0040", "+", "~1", "erased:", "T00:00:00", "2026-01-01"),
]
ADDRESSES = ["ann@example.com", '"ann b"@example.com', "-ann.b+c@example.com", '"\\"@example.com', "é@example.com"]


def redactions() -> Iterator[Pattern]:
    for address in ADDRESSES:
        yield from _patterns_of(address)


#: Patterns that are made while the program runs: the module and the function that makes them, and how it uses them.
MADE: dict[tuple[str, str], tuple[str, Callable[[], Iterator[Pattern]]]] = {
    ("mailfold.redaction", "_patterns_of"): ("sub", redactions),
    ("mailfold.steps.operate.refold", "reading"): ("search", lambda: iter([re.compile(_pattern("5.1.1"))])),
    ("mailfold.steps.query.route", "pattern"): ("fullmatch", lambda: (route.pattern for route in ROUTES)),
    ("mailfold.unescaping", "_many_marks"): ("sub", lambda: iter([_many_marks()])),
}


@dataclass(frozen=True, kw_only=True)
class Use:
    """A pattern and the way in which the package uses it."""

    name: str
    pattern: Pattern
    method: str


def modules() -> Iterator[str]:
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield found.name


def uses_in(name: str) -> Iterator[Use]:
    """Return every use of a pattern in a module, or fail for one that cannot be followed."""
    module = importlib.import_module(name)
    tree = ast.parse(Path(str(module.__file__)).read_text())
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not {"re", "regex"} & set(imported), f"{name}: import re as a whole, so that its patterns are found"
    for value in vars(module).values():
        assert not isinstance(value, list | tuple | dict) or not any(isinstance(it, re.Pattern) for it in value), name
    named = {key for key, value in vars(module).items() if isinstance(value, re.Pattern)}
    for node, function in _calls(tree, ""):
        assert isinstance(node.func, ast.Attribute)
        of, method = ast.unparse(node.func.value), node.func.attr
        if of in named and method in METHODS:
            yield Use(name=f"{name}.{of}", pattern=getattr(module, of), method=method)
        elif of == "re" and function and method in {*METHODS, "compile"}:
            yield from _made(node, name, function, method)


def _calls(node: ast.AST, function: str) -> Iterator[tuple[ast.Call, str]]:
    """Return the calls of a method, each with the function that it stands in."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            yield inner, function
        yield from _calls(inner, inner.name if isinstance(inner, ast.FunctionDef) else function)


def _made(node: ast.Call, name: str, function: str, method: str) -> Iterator[Use]:
    if isinstance(node.args[0], ast.Constant) and method != "compile":
        yield Use(name=f"{name}:{node.lineno}", pattern=re.compile(node.args[0].value), method=method)
        return
    assert (name, function) in MADE, f"{name}:{node.lineno} makes a pattern in {function}: name it in MADE"
    used, made = MADE[name, function]
    yield from (Use(name=f"{name}.{function}", pattern=pattern, method=used) for pattern in made())


EVERY_USE = [use for name in modules() for use in uses_in(name)]


def texts(pattern: Pattern) -> Iterator[Callable[[int], str]]:
    """Return hostile texts of any length: atoms, also behind and between the words of the pattern itself."""
    if len(pattern.pattern) > 400:
        # Made of an address: its words are among the atoms.
        yield from (partial(_repeated, atom) for atom in ATOMS)
        return
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    words = [*dict.fromkeys(re.findall(r"[A-Za-z]{3,}[ :]?", source))][:6]
    for atom in [*ATOMS, *words]:
        yield partial(_repeated, atom)
    for word in words:
        for atom in ATOMS:
            yield partial(_behind, word, atom)
            yield partial(_repeated, word + atom)


def _repeated(atom: str, length: int) -> str:
    return (atom * (length // len(atom) + 1))[:length]


def _behind(word: str, atom: str, length: int) -> str:
    return word + _repeated(atom, length) + "\x01"


def test_the_walk_finds_every_pattern_that_a_module_names() -> None:
    used = {use.pattern for use in EVERY_USE}
    named = {
        f"{name}.{key}": value
        for name in modules()
        for key, value in vars(importlib.import_module(name)).items()
        if isinstance(value, re.Pattern)
    }

    assert [name for name, pattern in named.items() if pattern not in used] == []
    assert len(named) >= 20
    assert {f"{module}.{function}" for module, function in MADE} <= {use.name for use in EVERY_USE}


@pytest.mark.parametrize("use", EVERY_USE, ids=lambda use: f"{use.name}-{use.method}")
def test_a_pattern_costs_no_more_than_its_text_is_long(use: Use) -> None:
    run = getattr(use.pattern, use.method)
    is_bytes = isinstance(use.pattern.pattern, bytes)
    more = [b"" if is_bytes else ""] if use.method in {"sub", "subn"} else []
    for text in texts(use.pattern):

        def work(length: int, text: Callable[[int], str] = text) -> None:
            subject: Any = text(length)
            found = run(*more, subject.encode("utf-8", "surrogatepass") if is_bytes else subject)
            # A search that is not finished costs nothing.
            all(True for _ in found) if use.method == "finditer" else None

        assert grows_in_step(work), f"{use.name}: {use.method} on {text(40)!r}"
