"""docs/cli.md lists what there is: the commands, and what a person must be allowed to do for each."""

import argparse
import re

import cli.__main__ as program
from local.options import ROOT

PAGE = (ROOT / "docs/cli.md").read_text()
#: What IAM calls a service where boto3 calls it otherwise.
SERVICES = {"sesv2": "ses"}


def action(service: str, operation: str) -> str:
    return f"{SERVICES.get(service, service)}:{''.join(part.capitalize() for part in operation.split('_'))}"


def allowed(command: str) -> set[str]:
    [row] = re.findall(rf"^\| `{command}`[^|]* \| (.+) \|$", PAGE.partition("## Permissions")[2], re.MULTILINE)
    return set(re.findall(r"`([a-z]+:\w+)`", row))


def test_every_command_is_on_the_page() -> None:
    [commands] = [each for each in program._parser()._actions if isinstance(each, argparse._SubParsersAction)]

    assert [name for name in commands.choices if f"`{name}" not in PAGE] == []


def test_doctor_asks_for_what_the_page_says() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "cli/checks").glob("*.py"))
    asked = {action(*found) for found in re.findall(r'\.ask\(\s*"(\w+)", "(\w+)"', code)}

    # The secret is read by the class that also changes it, and every command describes the stack.
    assert asked - {"cloudformation:DescribeStacks"} == allowed("doctor") - {"secretsmanager:GetSecretValue"}


def test_secrets_asks_for_what_the_page_says() -> None:
    code = (ROOT / "cli/vault.py").read_text()
    asked = {action("secretsmanager", found) for found in re.findall(r"self\._client\.(\w+)\(", code)}

    assert asked == allowed("secrets set")
