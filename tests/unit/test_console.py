"""The console's files: nothing in them turns a text into markup or a program, and each is served."""

import re

import pytest

from mailfold.steps.query.console import listing

FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|\beval\b|new Function|"
    r"setTimeout\(\s*[\"'`]|srcdoc|javascript:|https?://(?!www\.w3\.org/2000/svg)[^\s]*[\"'`]"
)
SCRIPTS = sorted(name for name in listing() if name.endswith(".js"))


def text(name: str) -> str:
    return listing()[name].content.decode()


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_makes_markup_of_a_text(name: str) -> None:
    assert FORBIDDEN.findall(text(name)) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_only_one_module_makes_elements(name: str) -> None:
    makers = {"dom.js": 2, "csv.js": 1}

    assert len(re.findall(r"createElement(?:NS)?\(", text(name))) == makers.get(name, 0)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_import_is_a_file_beside_it(name: str) -> None:
    imported = re.findall(r'^import .*?from "(.*?)";', text(name), re.MULTILINE)

    assert [it for it in imported if it.removeprefix("./") not in listing() or not it.startswith("./")] == []


def test_the_shell_names_files_that_are_there_and_holds_no_script_and_no_style() -> None:
    shell = text("index.html")
    named = re.findall(r'(?:src|href)="(?!#)([^"]+)"', shell)

    assert [it for it in named if it.removeprefix("console/") not in listing()] == []
    assert re.findall(r"<style|style=|\son\w+=|<script(?! src=)", shell) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_files_stay_short(name: str) -> None:
    assert len(text(name).splitlines()) <= 250
