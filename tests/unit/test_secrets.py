"""Secrets: kept for a while, read again when it may help, and never an empty list of them."""

import pytest

from local.testing.fakes import FakeSecretsManager
from mailfold.errors import SecretUnavailable
from mailfold.secrets import MAX_AGE_S, REREAD_AFTER_S, Secrets
from tests.support.fakes import Clock

OUTAGE = ConnectionError("no route")


@pytest.fixture
def manager() -> FakeSecretsManager:
    return FakeSecretsManager({"main": ["new", "old"], "second": ["other"]})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def secrets(manager: FakeSecretsManager, clock: Clock) -> Secrets:
    return Secrets(manager, "mailfold/sources", clock=clock)


def test_one_read_serves_all_sources_for_a_while(secrets: Secrets, manager: FakeSecretsManager, clock: Clock) -> None:
    first = secrets.of("main")
    clock.now += MAX_AGE_S
    later = secrets.of("second")

    assert (first, later, manager.reads) == (["new", "old"], ["other"], 1)


def test_an_old_copy_is_renewed(secrets: Secrets, manager: FakeSecretsManager, clock: Clock) -> None:
    secrets.of("main")
    manager.secret = {"main": ["newer"]}
    clock.now += MAX_AGE_S + 1

    assert secrets.of("main") == ["newer"]


def test_an_outage_leaves_the_old_copy_in_use(secrets: Secrets, manager: FakeSecretsManager, clock: Clock) -> None:
    secrets.of("main")
    manager.secret = OUTAGE
    clock.now += 100 * MAX_AGE_S

    assert secrets.of("main") == ["new", "old"]


def test_an_outage_is_not_asked_about_on_every_request(
    secrets: Secrets, manager: FakeSecretsManager, clock: Clock
) -> None:
    secrets.of("main")
    manager.secret = OUTAGE
    clock.now += MAX_AGE_S + 1

    for _ in range(100):
        secrets.of("main")
        assert secrets.reread("main") is None

    assert manager.reads == 2


def test_after_an_outage_the_secret_is_read_soon(secrets: Secrets, manager: FakeSecretsManager, clock: Clock) -> None:
    secrets.of("main")
    manager.secret = OUTAGE
    clock.now += MAX_AGE_S + 1
    secrets.of("main")
    manager.secret = {"main": ["newer"]}
    clock.now += REREAD_AFTER_S + 1

    assert secrets.of("main") == ["newer"]


def test_a_rotation_is_seen_when_a_signature_fails(secrets: Secrets, manager: FakeSecretsManager, clock: Clock) -> None:
    secrets.of("main")
    manager.secret = {"main": ["newest", "new"]}
    clock.now += REREAD_AFTER_S + 1

    assert secrets.reread("main") == ["newest", "new"]
    assert secrets.of("main") == ["newest", "new"]


def test_an_unchanged_secret_is_not_worth_a_second_try(secrets: Secrets, clock: Clock) -> None:
    secrets.of("main")
    clock.now += REREAD_AFTER_S + 1

    assert secrets.reread("main") is None


def test_forgers_cannot_make_it_read_on_each_request(
    secrets: Secrets, manager: FakeSecretsManager, clock: Clock
) -> None:
    for _ in range(1_000):
        secrets.of("main")
        secrets.reread("main")
        clock.now += 0.1

    assert manager.reads <= 1 + 1_000 * 0.1 / REREAD_AFTER_S


def test_an_outage_during_the_second_look_changes_nothing(
    secrets: Secrets, manager: FakeSecretsManager, clock: Clock
) -> None:
    secrets.of("main")
    manager.secret = OUTAGE
    clock.now += REREAD_AFTER_S + 1

    assert secrets.reread("main") is None
    assert secrets.of("main") == ["new", "old"]


@pytest.mark.parametrize(
    "secret",
    [
        OUTAGE,
        "not json",
        "[]",
        "null",
        {},
        {"main": []},
        {"main": "text"},
        {"main": [""]},
        {"main": [5]},
        {"main": None},
    ],
    ids=str,
)
def test_a_secret_that_nobody_can_be_verified_with_is_unavailable(manager: FakeSecretsManager, secret: object) -> None:
    manager.secret = secret

    with pytest.raises(SecretUnavailable) as refusal:
        Secrets(manager, "mailfold/sources").of("main")

    assert "text" not in str(refusal.value)


def test_a_secret_that_is_binary_is_unavailable() -> None:
    class Binary:
        def get_secret_value(self, **_: object) -> dict[str, object]:
            return {"SecretBinary": b"{}"}

    with pytest.raises(SecretUnavailable):
        Secrets(Binary(), "mailfold/sources").of("main")


def test_a_source_that_was_added_is_found_without_a_restart(
    secrets: Secrets, manager: FakeSecretsManager, clock: Clock
) -> None:
    with pytest.raises(SecretUnavailable):
        secrets.of("third")
    manager.secret = {"third": ["added"]}
    clock.now += REREAD_AFTER_S + 1

    assert secrets.of("third") == ["added"]


def test_a_source_that_lost_its_secrets_is_unavailable_not_unverified(
    secrets: Secrets, manager: FakeSecretsManager, clock: Clock
) -> None:
    secrets.of("main")
    manager.secret = {"second": ["other"]}
    clock.now += REREAD_AFTER_S + 1

    with pytest.raises(SecretUnavailable):
        secrets.reread("main")
