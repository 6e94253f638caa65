"""Secrets: kept for a while, read again when it may help, and never an empty list of them."""

import subprocess
import sys
from pathlib import Path

import pytest

from local.testing.fakes import FakeSecretsManager
from mailfold.errors import SecretUnavailable
from mailfold.providers import forms_of
from mailfold.request import Source
from mailfold.secrets import MAX_AGE_S, REREAD_AFTER_S, Secrets
from tests.support.fakes import Clock

OUTAGE = ConnectionError("no route")
FORMS = forms_of({name: Source(name=name, provider="sesmetric") for name in ("main", "second", "third")})
NEW, OLD, OTHER = "new-4f0d9a27c1be", "old-be2d7450c1f9", "other-7c9e6679f47d"
NEWER, NEWEST = "newer-0f8fad5bd9cb", "newest-6f9619ff8b86"


@pytest.fixture
def manager() -> FakeSecretsManager:
    return FakeSecretsManager({"main": [NEW, OLD], "second": [OTHER]})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def secrets(manager: FakeSecretsManager, clock: Clock) -> Secrets:
    return Secrets(manager, "mailfold/sources", forms=FORMS, clock=clock)


def test_one_read_serves_all_sources_for_a_while(secrets: Secrets, manager: FakeSecretsManager, clock: Clock) -> None:
    first = secrets.of("main")
    clock.now += MAX_AGE_S
    later = secrets.of("second")

    assert (first, later, manager.reads) == ([NEW, OLD], [OTHER], 1)


def test_an_old_copy_is_renewed(secrets: Secrets, manager: FakeSecretsManager, clock: Clock) -> None:
    secrets.of("main")
    manager.secret = {"main": [NEWER]}
    clock.now += MAX_AGE_S + 1

    assert secrets.of("main") == [NEWER]


def test_an_outage_leaves_the_old_copy_in_use(secrets: Secrets, manager: FakeSecretsManager, clock: Clock) -> None:
    secrets.of("main")
    manager.secret = OUTAGE
    clock.now += 100 * MAX_AGE_S

    assert secrets.of("main") == [NEW, OLD]


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
    manager.secret = {"main": [NEWER]}
    clock.now += REREAD_AFTER_S + 1

    assert secrets.of("main") == [NEWER]


def test_a_rotation_is_seen_when_a_signature_fails(secrets: Secrets, manager: FakeSecretsManager, clock: Clock) -> None:
    secrets.of("main")
    manager.secret = {"main": [NEWEST, NEW]}
    clock.now += REREAD_AFTER_S + 1

    assert secrets.reread("main") == [NEWEST, NEW]
    assert secrets.of("main") == [NEWEST, NEW]


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
    assert secrets.of("main") == [NEW, OLD]


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
        Secrets(manager, "mailfold/sources", forms=FORMS).of("main")

    assert "text" not in str(refusal.value)


def test_a_secret_that_is_binary_is_unavailable() -> None:
    class Binary:
        def get_secret_value(self, **_: object) -> dict[str, object]:
            return {"SecretBinary": b"{}"}

    with pytest.raises(SecretUnavailable):
        Secrets(Binary(), "mailfold/sources", forms=FORMS).of("main")


def test_a_source_that_was_added_is_found_without_a_restart(
    secrets: Secrets, manager: FakeSecretsManager, clock: Clock
) -> None:
    with pytest.raises(SecretUnavailable):
        secrets.of("third")
    manager.secret = {"third": [NEWER]}
    clock.now += REREAD_AFTER_S + 1

    assert secrets.of("third") == [NEWER]


def test_a_source_that_lost_its_secrets_is_unavailable_not_unverified(
    secrets: Secrets, manager: FakeSecretsManager, clock: Clock
) -> None:
    secrets.of("main")
    manager.secret = {"second": [OTHER]}
    clock.now += REREAD_AFTER_S + 1

    with pytest.raises(SecretUnavailable):
        secrets.reread("main")


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (["the-signing-secret"], "it is a placeholder"),
        (["s3cr3t7"], "it is shorter than 16 bytes"),
        (["the-signing-secret", f"{NEW} "], "it has spaces or line ends around it, is a placeholder"),
    ],
)
def test_secrets_that_are_none_leave_the_source_unavailable(
    manager: FakeSecretsManager, held: list[str], why: str
) -> None:
    manager.secret = {"main": held}

    with pytest.raises(SecretUnavailable) as refusal:
        Secrets(manager, "mailfold/sources", forms=FORMS).of("main")

    assert why in str(refusal.value)
    assert [secret for secret in held if secret in str(refusal.value)] == []


def test_a_secret_that_is_none_is_not_used_beside_one_that_is(secrets: Secrets, manager: FakeSecretsManager) -> None:
    manager.secret = {"main": ["the-signing-secret", NEW, "short"]}

    assert secrets.of("main") == [NEW]


def test_what_was_none_is_looked_for_again_soon(secrets: Secrets, manager: FakeSecretsManager, clock: Clock) -> None:
    manager.secret = {"main": ["the-signing-secret"]}
    with pytest.raises(SecretUnavailable):
        secrets.of("main")
    manager.secret = {"main": [NEW]}
    clock.now += REREAD_AFTER_S + 1

    assert secrets.of("main") == [NEW]


def test_the_form_is_looked_at_once_for_each_read(manager: FakeSecretsManager, clock: Clock) -> None:
    seen: list[str] = []

    def form(secret: str) -> str | None:
        seen.append(secret)
        return None

    secrets = Secrets(manager, "mailfold/sources", forms={"main": form, "second": form}, clock=clock)
    for _ in range(100):
        secrets.of("main")
    clock.now += MAX_AGE_S + 1
    for _ in range(100):
        secrets.of("main")

    assert seen == [NEW, OLD, NEW, OLD]


def test_only_a_source_whose_secret_is_a_public_key_loads_what_reads_it() -> None:
    program = (
        "import json, sys\n"
        "from mailfold.providers import forms_of\n"
        "from mailfold.request import Source\n"
        "from mailfold.secrets import Secrets\n"
        "class Client:\n"
        "    def get_secret_value(self, SecretId):\n"
        "        return {'SecretString': json.dumps({name: ['k8Jq2w9Zr5Tn7Xv1'] for name in ('shop', 'mail')})}\n"
        "providers = {'shop': 'sesmetric', 'mail': 'sendgrid'}\n"
        "sources = {name: Source(name=name, provider=provider) for name, provider in providers.items()}\n"
        "secrets = Secrets(Client(), 'secret', forms=forms_of(sources))\n"
        "secrets.of('shop')\n"
        "print('cryptography' in sys.modules)\n"
        "try:\n"
        "    secrets.of('mail')\n"
        "except Exception as exc:\n"
        "    print(type(exc).__name__, 'cryptography' in sys.modules)\n"
    )
    layer = Path(__file__).resolve().parents[2] / "layers/mailfold/python"
    ran = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(layer)}, capture_output=True, text=True, check=True
    )

    assert ran.stdout.splitlines() == ["False", "SecretUnavailable True"]
