"""No page tells a reader to put a secret on a command line, or to write the secrets of all sources at once."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mailfold.providers import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
#: Blocks in these are not for a shell.
NO_SHELL = {"json", "sql", "python", "yaml"}

UNSAFE = {
    "writes the whole value": re.compile(
        r"\b(?:put-secret-value|update-secret|create-secret)\b.*\s--secret-(?:string|binary)\b"
    ),
    "signs with a key that every process sees": re.compile(
        r"\bopenssl\b.*\s-(?:hmac|macopt|passin|passout|pass|k|K)\b"
    ),
    "gives a user and a password": re.compile(r"\bcurl\b.*\s(?:-u|--user|--oauth2-bearer|--proxy-user)[ =]"),
    "has a password in a URL": re.compile(r"^\S*\b(?:curl|wget|psql|http)\b.*://[^\s/@:]+:[^\s/@]+@"),
    "gives a credential in a header": re.compile(
        r"\b(?:curl|wget|http)\b.*\b(?:authorization|x-\w*-?key)\s*:", re.IGNORECASE
    ),
    "holds a secret in a variable of the shell": re.compile(
        r"\$\{?[A-Za-z_]*(?:secret|password|passwd|token|credential|(?:signing|api|webhook|shared)_?key)(?!_?(?:arn|id|name))\b",
        re.IGNORECASE,
    ),
    "sets a secret in the shell": re.compile(
        r"^(?:export +)?\w*(?:secret|password|token|_key)=[\"']?[^\s\"'$]", re.IGNORECASE
    ),
}


def commands(text: str) -> Iterator[str]:
    """Every command line of a page, continued lines joined; a short one may stand in the text."""
    for language, block in FENCED.findall(text):
        if language not in NO_SHELL:
            yield from (line.strip() for line in block.replace("\\\n", " ").splitlines())
    yield from INLINE.findall(FENCED.sub("", text))


def complaints(line: str) -> list[str]:
    found = [what for what, pattern in UNSAFE.items() if pattern.search(line)]
    return found + (["gives mailfold a value"] if len(positional(line)) > 1 else [])


def positional(line: str) -> list[str]:
    """What stands behind `secrets set` and its like, without options, comments and what is read from a file."""
    called = re.search(r"\bmailfold secrets (?:set|add|rotate)\b([^#<|]*)", line)
    words = re.sub(r"--(?:profile|region|stack)[ =]+\S+", "", called.group(1)).split() if called else []
    return [word for word in words if not word.startswith("-")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_command_line_carries_a_secret(page: Path) -> None:
    assert [(line, found) for line in commands(page.read_text()) if (found := complaints(line))] == []


@pytest.mark.parametrize(
    "line",
    [
        """aws secretsmanager put-secret-value --secret-id s --secret-string '{"mailgun": ["the-signing-key"]}'""",
        """aws secretsmanager update-secret --secret-id mailfold --secret-string file://all.json""",
        "bin/mailfold secrets set mailgun 0f8fad5bd9cb469f",
        "bin/mailfold secrets set mailgun --profile prod 0f8fad5bd9cb469f",
        "bin/mailfold secrets rotate mailgun $NEW",
        """signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$secret")""",
        'curl -i "$url" -u mailfold:the-password',
        "curl https://mailfold:the-password@example.com/webhooks/brevo",
        'curl -H "authorization: Bearer mf_0f8fad5b" https://example.com/v1/sources',
        """body='{"auth":"'$secret'"}'""",
        "secret='0f8fad5bd9cb469f'",
        "export SIGNING_TOKEN=0f8fad5bd9cb469f",
    ],
)
def test_what_carries_one_is_noticed(line: str) -> None:
    assert complaints(line)


@pytest.mark.parametrize(
    "line",
    [
        "bin/mailfold secrets set mailgun --profile prod",
        "bin/mailfold secrets set mailgun < key.txt      # or reads it from standard input",
        "bin/mailfold secrets rotate mailgun --profile prod --finish   # 9 hours after the switch: drops the old one",
        'aws secretsmanager restore-secret --secret-id "$SECRET_ARN"',
    ],
)
def test_what_carries_none_is_not(line: str) -> None:
    assert complaints(line) == []


@pytest.mark.parametrize("provider", sorted(REGISTRY))
def test_each_provider_is_connected_by_the_command_that_merges_and_checks(provider: str) -> None:
    page = (ROOT / f"docs/providers/{provider}.md").read_text()
    source = "acme" if provider in {"generic", "standardwebhooks"} else provider

    assert any(line.startswith(f"bin/mailfold secrets set {source}") for line in commands(page))


def test_the_readme_connects_by_it_too() -> None:
    assert any(line.startswith("bin/mailfold secrets set") for line in commands((ROOT / "README.md").read_text()))
