"""mailfold secrets on moto's Secrets Manager: nothing is lost, nothing is printed."""

import io
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

import cli.__main__ as program
import cli.vault
from cli.errors import CommandError
from cli.place import Place
from cli.vault import Vault

SOURCES = {
    "shop": {"provider": "sesmetric"},
    "mail": {"provider": "sendgrid"},
    "ses": {"provider": "ses"},
}
OLD, NEW = "old-4f0d9a27c1be", "new-be2d7450c1f9"
HELD = "basic:sender:k8Jq2w9Zr5Tn"


class Desk:
    """The command line in front of a secret."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self._patch = monkeypatch
        self.client = boto3.client("secretsmanager")
        self.secret_id = self.client.create_secret(Name=name, SecretString="{}")["ARN"]
        client = self.client

        class Answering(Place):
            def order(self, command: str, **arguments: Any) -> dict[str, Any]:
                assert command == "sources"
                return {"sources": SOURCES}

        place = Answering(client=lambda service: client, outputs={"SecretArn": self.secret_id}, by="test")
        monkeypatch.setattr(program, "_place", lambda arguments: place)

    def hold(self, value: Any) -> None:
        self.client.put_secret_value(SecretId=self.secret_id, SecretString=json.dumps(value))

    def held(self) -> Any:
        return json.loads(
            self.client.get_secret_value(SecretId=self.secret_id, VersionStage="AWSCURRENT")["SecretString"]
        )

    def run(self, *arguments: str, given: str = "") -> int:
        self._patch.setattr("sys.stdin", io.StringIO(given))
        return program.main(["secrets", *arguments])


@pytest.fixture
def desk(aws: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Desk:
    return Desk(monkeypatch, f"secrets-{abs(hash(request.node.nodeid))}")


def test_the_list_counts_and_names_no_secret(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.hold({"shop": [NEW, OLD], "mail": "no list"})

    assert desk.run() == 0

    words = capsys.readouterr().out
    assert [line.split() for line in words.splitlines()[:4]] == [
        ["source", "provider", "secrets", "needed"],
        ["shop", "sesmetric", "2", "yes"],
        ["mail", "sendgrid", "0", "yes"],
        ["ses", "ses", "0", "no"],
    ]
    assert "last changed 20" in words
    assert OLD not in words


def test_set_replaces_one_entry_and_keeps_all_others(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.hold({"shop": [OLD], "mail": ["kept"], "strange": {"kept": 1}})

    assert desk.run("set", "shop", given=f"{NEW}\n") == 0

    assert desk.held() == {"shop": [NEW], "mail": ["kept"], "strange": {"kept": 1}}
    assert NEW not in "".join(capsys.readouterr())


def test_rotate_puts_the_new_one_in_front_and_finish_drops_the_old_one(desk: Desk) -> None:
    desk.hold({"shop": [OLD, "older"], "mail": ["kept"]})

    assert desk.run("rotate", "shop", given=NEW) == 0
    assert desk.held() == {"shop": [NEW, OLD], "mail": ["kept"]}
    assert desk.run("rotate", "shop", "--finish", "--now") == 0
    assert desk.held() == {"shop": [NEW], "mail": ["kept"]}
    assert desk.run("rotate", "shop", "--finish") == 0


def test_finish_waits_for_the_provider(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.hold({"shop": [NEW, OLD]})

    assert desk.run("rotate", "shop", "--finish") == 3
    assert "sesmetric may send requests proven with the old one for 72: wait" in capsys.readouterr().err
    read = Vault.read

    def days_ago(vault: Vault) -> cli.vault.Version:
        found = read(vault)
        return cli.vault.Version(
            entries=found.entries, version_id=found.version_id, created_at=datetime.now(UTC) - timedelta(hours=73)
        )

    monkeypatch.setattr(Vault, "read", days_ago)

    assert desk.run("rotate", "shop", "--finish") == 0
    assert desk.held() == {"shop": [NEW]}


@pytest.mark.parametrize(
    ("arguments", "given", "sentence"),
    [
        (["set", "nobody"], NEW, "nobody is no source; known are shop, mail, ses"),
        (["set", "ses"], NEW, "ses needs no secret"),
        (["set", "shop"], "short", "this is shorter than 16 bytes; receive would not use it, and nothing was changed"),
        (["rotate", "shop"], "the-signing-secret", "this is a placeholder; receive would not use it"),
        (["restore"], "", "no source is without a secret that the version before (AWSPREVIOUS) has"),
        (["add", "shop"], OLD, "shop has this secret already"),
        (["rotate", "mail"], NEW, "mail has no secret yet: bin/mailfold secrets set mail"),
        (["rotate", "shop"], OLD, "shop has this secret already"),
        (["remove", "shop"], "", "shop is a source"),
        (["remove", "unknown"], "", "the secret has no entry unknown"),
    ],
)
def test_a_mistake_changes_nothing(
    desk: Desk, capsys: pytest.CaptureFixture[str], arguments: list[str], given: str, sentence: str
) -> None:
    desk.hold({"shop": [OLD]})

    assert desk.run(*arguments, given=given) == 3

    assert sentence in capsys.readouterr().err
    assert desk.held() == {"shop": [OLD]}


def test_the_first_secret_of_a_new_stack_is_set(desk: Desk) -> None:
    assert desk.held() == {}

    assert desk.run("set", "shop", given=f"{NEW}\n") == 0

    assert desk.held() == {"shop": [NEW]}


@pytest.mark.parametrize("option", ["--anyway", "--force"])
def test_nothing_makes_it_store_what_receive_would_not_use(desk: Desk, option: str) -> None:
    with pytest.raises(SystemExit):
        desk.run("set", "shop", option, given="short")

    assert desk.held() == {}


def test_add_keeps_all_others(desk: Desk) -> None:
    desk.hold({"shop": [OLD, "older-1d7450c1f9be"], "mail": ["kept"]})

    assert desk.run("add", "shop", given=NEW) == 0

    assert desk.held() == {"shop": [NEW, OLD, "older-1d7450c1f9be"], "mail": ["kept"]}


def test_restore_takes_back_all_that_an_overwrite_has_dropped(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.hold({"shop": [OLD, "older-1d7450c1f9be"], "mail": [HELD], "former": ["gone"]})
    desk.hold({"mail": ["the-api-key"], "strange": 5})

    assert desk.run("restore") == 0

    assert desk.held() == {"shop": [OLD, "older-1d7450c1f9be"], "mail": [HELD], "strange": 5}
    printed = "".join(capsys.readouterr())
    assert "restored: shop, mail" in printed
    assert [secret for secret in (OLD, HELD) if secret in printed] == []


def test_restore_keeps_what_the_overwrite_has_put(desk: Desk) -> None:
    desk.hold({"shop": [OLD], "mail": [HELD]})
    desk.hold({"shop": [NEW]})

    assert desk.run("restore") == 0

    assert desk.held() == {"shop": [NEW], "mail": [HELD]}


def test_a_broken_secret_is_put_back_by_the_command_that_it_names(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.hold({"shop": [OLD]})
    desk.client.put_secret_value(SecretId=desk.secret_id, SecretString=NEW)

    assert desk.run("set", "shop", given=NEW) == 3

    words = capsys.readouterr().err
    found = re.search(r"--version-stage (\S+) --move-to-version-id (\S+) --remove-from-version-id (\S+)", words)
    assert found
    assert NEW not in words
    stage, to, away_from = found.groups()
    desk.client.update_secret_version_stage(
        SecretId=desk.secret_id, VersionStage=stage, MoveToVersionId=to, RemoveFromVersionId=away_from
    )
    assert desk.held() == {"shop": [OLD]}


def test_nothing_on_the_input_is_a_wrong_command(desk: Desk) -> None:
    assert desk.run("set", "shop") == 2


def test_a_secret_is_no_argument(desk: Desk) -> None:
    with pytest.raises(SystemExit):
        desk.run("set", "shop", NEW)


def test_an_entry_of_nobody_is_removed(desk: Desk) -> None:
    desk.hold({"shop": [OLD], "former": [OLD]})

    assert desk.run("remove", "former") == 0

    assert desk.held() == {"shop": [OLD]}


@pytest.mark.parametrize("broken", ["[]", "not JSON", '"text"'])
def test_a_secret_that_is_no_object_is_left_to_a_person(
    desk: Desk, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    desk.client.put_secret_value(SecretId=desk.secret_id, SecretString=broken)

    assert desk.run("set", "shop", given=NEW) == 3

    assert "the secret is not a JSON object: aws secretsmanager " in capsys.readouterr().err
    assert desk.client.get_secret_value(SecretId=desk.secret_id)["SecretString"] == broken


def test_a_change_at_the_same_moment_is_noticed_and_not_lost(desk: Desk) -> None:
    desk.hold({"shop": [OLD]})
    vault = Vault(desk.client, desk.secret_id)
    version = vault.read()
    desk.hold({"shop": [OLD], "mail": ["written meanwhile"]})

    with pytest.raises(
        CommandError, match="the secret was changed at the same moment: nothing was changed here"
    ) as told:
        vault.replace(version, {"shop": [NEW]})

    assert told.value.code == 2
    assert desk.held() == {"shop": [OLD], "mail": ["written meanwhile"]}


def test_no_label_is_left_behind(desk: Desk) -> None:
    desk.hold({"shop": [OLD]})

    assert [desk.run("rotate", "shop", given=f"{NEW}-{number}") for number in range(3)] == [0, 0, 0]

    stages = desk.client.describe_secret(SecretId=desk.secret_id)["VersionIdsToStages"].values()
    assert sorted(stage for found in stages for stage in found) == ["AWSCURRENT", "AWSPREVIOUS"]


@pytest.mark.parametrize("typed", [NEW, ""])
def test_at_a_terminal_it_is_asked_for_without_an_echo(desk: Desk, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def prompt(words: str) -> str:
        assert words == "secret of shop: "
        if not typed:
            raise EOFError
        return typed

    monkeypatch.setattr("getpass.getpass", prompt)
    monkeypatch.setattr("sys.stdin", Terminal())

    assert program.main(["secrets", "set", "shop"]) == (0 if typed else 2)
