"""The connections of all roles together fit into the database, whatever the settings are."""

import json
from pathlib import Path

import pytest

from infra.connections import max_connections
from infra.rules import SettingsError
from infra.settings import Settings
from mailfold.settings import MigrateSettings
from mailfold.store.rights import login_roles
from tests.infra.template import Synthesised, synthesise

#: superuser_reserved_connections and rds.rds_superuser_reserved_connections.
RESERVED = 3 + 2


def limits(stack: Synthesised) -> dict[str, int]:
    return json.loads(stack.environment("migrate")["CONNECTION_LIMITS"])


def test_every_login_role_has_a_limit_that_migrate_can_read(
    stack: Synthesised, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://u@h/d")
    monkeypatch.setenv("CONNECTION_LIMITS", stack.environment("migrate")["CONNECTION_LIMITS"])

    assert tuple(sorted(MigrateSettings.from_environment().connection_limits)) == login_roles()


def test_process_has_two_for_each_invocation_and_room_for_the_version_before(tmp_path: Path) -> None:
    for number in (2, 5, 10):
        stack = synthesise(tmp_path / str(number), Settings(max_concurrency=number))

        assert limits(stack)["mailfold_process"] >= 2 * number + number


def test_query_has_what_its_own_setting_says(stack: Synthesised, tmp_path: Path) -> None:
    reserved = synthesise(tmp_path, Settings(query_concurrency=9))

    assert limits(stack)["mailfold_query"] <= 25
    assert limits(reserved)["mailfold_query"] == 18


@pytest.mark.parametrize("database_class", ["t4g.micro", "t4g.small", "m7g.large", "r7g.16xlarge"])
@pytest.mark.parametrize("knob", ["max_concurrency", "query_concurrency"])
def test_what_is_allowed_fits_and_what_is_refused_does_not(database_class: str, knob: str) -> None:
    def fits(number: int) -> bool:
        try:
            Settings.from_context({"database_class": database_class, knob: number})
        except SettingsError as refused:
            return f"mailfold.{knob} {number}" not in str(refused)
        return True

    allowed = [number for number in range(2, 1_001) if fits(number)]

    assert allowed == list(range(2, len(allowed) + 2))
    assert len(allowed) == 999 or not fits(allowed[-1] + 1)


@pytest.mark.parametrize("database_class", ["t4g.micro", "t4g.small", "m7g.large"])
def test_the_sum_of_all_limits_is_below_what_the_class_admits(database_class: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_context({"database_class": database_class, "max_concurrency": 1_000})
    most = int(str(refused.value).partition("at most ")[2].split()[0])

    stack = synthesise(tmp_path, Settings.from_context({"database_class": database_class, "max_concurrency": most}))

    assert sum(limits(stack).values()) + RESERVED < max_connections(database_class)
    assert most >= Settings().max_concurrency


def test_the_defaults_fit_into_the_smallest_class() -> None:
    assert Settings.from_context({}).database_class == "t4g.micro"
