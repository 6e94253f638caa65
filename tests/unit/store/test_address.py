"""Where the database is: without verified TLS only on this machine."""

import pytest

from mailfold.errors import SettingsError
from mailfold.store.connection import Address

REMOTE = "db.cluster-x.eu-west-1.rds.amazonaws.com"


def test_an_address_is_read() -> None:
    address = Address.from_url(f"postgresql://mailfold_process@{REMOTE}:6543/mailfold?sslmode=verify-full&auth=iam")

    assert (address.host, address.port, address.database) == (REMOTE, 6543, "mailfold")
    assert (address.user, address.password) == ("mailfold_process", None)
    assert address.verified_tls
    assert address.iam


def test_verified_tls_and_the_usual_port_are_the_defaults() -> None:
    address = Address.from_url(f"postgresql://u:p%40ss@{REMOTE}/mailfold")

    assert address.verified_tls
    assert not address.iam
    assert (address.port, address.password) == (5432, "p@ss")


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca", "", "VERIFY-FULL"])
def test_a_remote_database_is_never_reached_without_verified_tls(mode: str) -> None:
    url = f"postgresql://u@{REMOTE}/mailfold?sslmode={mode}"

    if mode == "":
        assert Address.from_url(url).verified_tls
    else:
        with pytest.raises(SettingsError, match="verified TLS"):
            Address.from_url(url)


@pytest.mark.parametrize("mode", ["sslmode=verify-full&sslmode=disable", "sslmode=disable"])
@pytest.mark.parametrize("host", ["127.0.0.1.example.com", "localhost.example.com", "10.0.0.1", "[::2]", "0.0.0.0"])
def test_nothing_that_only_looks_local_is_local(host: str, mode: str) -> None:
    with pytest.raises(SettingsError):
        Address.from_url(f"postgresql://u@{host}/mailfold?{mode}")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
def test_this_machine_needs_no_tls(host: str) -> None:
    assert not Address.from_url(f"postgresql://u@{host}/mailfold?sslmode=disable").verified_tls


@pytest.mark.parametrize(
    "url",
    [
        *("", "mailfold", "mysql://u@h/d", "postgresql://h/d", "postgresql:///d"),
        *("postgresql://u:s3cret@h:port/d", "postgresql://u:s3cret@h:99999/d", "postgresql://u:s3cret@[h/d"),
    ],
)
def test_what_is_no_address_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL must look like") as refusal:
        Address.from_url(url)

    assert "s3cret" not in str(refusal.value)
