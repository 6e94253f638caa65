"""Login tokens: made on this machine, for one host, one user and fifteen minutes."""

import socket
from urllib.parse import parse_qs, urlsplit

import pytest

from mailfold.store.iam import LIFETIME_S, make_token

HOST = "db.eu-west-1.rds.amazonaws.com"


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path_factory.mktemp("aws") / "none"))


def test_a_token_is_made_offline_for_one_host_user_and_quarter_of_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("a token needs no call")

    monkeypatch.setattr(socket, "create_connection", no_network)
    monkeypatch.setattr(socket.socket, "connect", no_network)

    token = make_token(HOST, 5432, "mailfold_process")

    said = parse_qs(urlsplit(f"https://{token}").query)
    assert token.startswith(f"{HOST}:5432/?")
    assert (said["Action"], said["DBUser"]) == (["connect"], ["mailfold_process"])
    assert said["X-Amz-Expires"] == [str(LIFETIME_S)] == ["900"]
    assert "eu-west-1/rds-db" in said["X-Amz-Credential"][0]
    assert said["X-Amz-Security-Token"] == ["session"]


def test_a_token_never_holds_the_secret_key() -> None:
    assert "very-secret" not in make_token(HOST, 5432, "mailfold_process")


def test_a_token_is_bound_to_its_host_and_user() -> None:
    signatures = {
        parse_qs(urlsplit(f"https://{make_token(host, 5432, user)}").query)["X-Amz-Signature"][0]
        for host in (HOST, "other.rds.amazonaws.com")
        for user in ("mailfold_process", "mailfold_prune")
    }

    assert len(signatures) == 4
