"""Settings: read once, and every wrong value refused with a sentence that names it."""

import json

import pytest

from mailfold.errors import SettingsError
from mailfold.settings import MigrateSettings, ProcessSettings, PruneSettings, PublishSettings, ReceiveSettings

TOPIC = "arn:aws:sns:eu-west-1:111122223333:ses-events"
GOOD = {
    "SOURCES": json.dumps({"main": {"provider": "sendgrid", "region": "eu"}, "ses": {"provider": "ses"}}),
    "SECRET_ID": "mailfold/sources",
    "QUEUE_URL": "https://queue",
    "CLAIM_TABLE": "claims",
    "MAX_BODY_BYTES": "4000000",
    "AWS_REGION": "eu-west-1",
    "TOPICS": json.dumps({TOPIC: "ses"}),
    "DATABASE_URL": "postgresql://mailfold_process@db.example.com/mailfold",
    "PUBLISH": "true",
    "RETENTION": json.dumps({"events": 60}),
    "BUS_NAME": "the-bus",
}
READERS = {
    ReceiveSettings: ("SOURCES", "SECRET_ID", "QUEUE_URL", "CLAIM_TABLE", "MAX_BODY_BYTES", "AWS_REGION"),
    ProcessSettings: ("SOURCES", "TOPICS", "DATABASE_URL", "PUBLISH"),
    PruneSettings: ("DATABASE_URL", "RETENTION"),
    PublishSettings: ("DATABASE_URL", "BUS_NAME"),
    MigrateSettings: ("DATABASE_URL",),
}
Reader = (
    type[ReceiveSettings] | type[ProcessSettings] | type[PruneSettings] | type[PublishSettings] | type[MigrateSettings]
)


@pytest.fixture(autouse=True)
def _good_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)


def test_receive_reads_what_it_is_told() -> None:
    settings = ReceiveSettings.from_environment()

    assert settings.sources["main"].options == {"provider": "sendgrid", "region": "eu"}
    assert (settings.sources["main"].name, settings.sources["main"].provider) == ("main", "sendgrid")
    assert (settings.secret_id, settings.queue_url) == ("mailfold/sources", "https://queue")
    assert (settings.claim_table, settings.max_body_bytes) == ("claims", 4_000_000)


def test_receive_reaches_aws_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_SECRETS_MANAGER"):
        monkeypatch.delenv(name, raising=False)
    plain = ReceiveSettings.from_environment().aws
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:9324")
    emulated = ReceiveSettings.from_environment().aws
    monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://127.0.0.1:9325")
    apart = ReceiveSettings.from_environment().aws

    assert (plain.url("sqs"), plain.region) == ("https://sqs.eu-west-1.amazonaws.com", "eu-west-1")
    assert (emulated.url("sqs"), emulated.url("secretsmanager")) == ("http://127.0.0.1:9324", "http://127.0.0.1:4566")
    assert apart.url("secretsmanager") == "http://127.0.0.1:9325"


def test_renewed_credentials_are_read_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    access = ReceiveSettings.from_environment().aws
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, f"later-{name}")

    credentials = access.credentials()

    assert (credentials.access_key, credentials.secret_key) == (
        "later-AWS_ACCESS_KEY_ID",
        "later-AWS_SECRET_ACCESS_KEY",
    )
    assert credentials.token == "later-AWS_SESSION_TOKEN"
    assert "SECRET" not in repr(credentials)
    assert "TOKEN" not in repr(credentials)


@pytest.mark.parametrize(("text", "publish"), [("true", True), ("false", False)])
def test_process_reads_what_it_is_told(monkeypatch: pytest.MonkeyPatch, text: str, publish: bool) -> None:
    monkeypatch.setenv("PUBLISH", text)

    settings = ProcessSettings.from_environment()

    assert set(settings.sources) == {"main", "ses"}
    assert settings.topics == {TOPIC: "ses"}
    assert settings.database_url == GOOD["DATABASE_URL"]
    assert settings.publish is publish


def test_publish_reads_what_it_is_told() -> None:
    settings = PublishSettings.from_environment()

    assert (settings.database_url, settings.bus_name) == (GOOD["DATABASE_URL"], "the-bus")


def test_prune_and_migrate_read_what_they_are_told() -> None:
    prune, migrate = PruneSettings.from_environment(), MigrateSettings.from_environment()

    assert prune.retention["events"] == 60
    assert prune.database_url == migrate.database_url == GOOD["DATABASE_URL"]
    assert migrate.connection_limits == {}


def test_migrate_reads_connection_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONNECTION_LIMITS", '{"mailfold_process": 15}')

    assert MigrateSettings.from_environment().connection_limits == {"mailfold_process": 15}


@pytest.mark.parametrize(
    "text", ["", "15", "[]", '{"postgres": 1}', '{"mailfold_process": 0}', '{"mailfold_process": "1"}', "{"]
)
def test_connection_limits_that_cannot_be_used_are_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("CONNECTION_LIMITS", text)

    with pytest.raises(SettingsError, match="CONNECTION_LIMITS"):
        MigrateSettings.from_environment()


@pytest.mark.parametrize(
    ("reader", "name"),
    [(reader, name) for reader, names in READERS.items() for name in names],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
@pytest.mark.parametrize("how", ["missing", "empty"])
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, reader: Reader, name: str, how: str) -> None:
    monkeypatch.setenv(name, "")
    if how == "missing":
        monkeypatch.delenv(name)

    with pytest.raises(SettingsError, match=name):
        reader.from_environment()


@pytest.mark.parametrize(
    ("reader", "name", "value"),
    [
        *[(ReceiveSettings, "MAX_BODY_BYTES", value) for value in ("-1", "1.5", "4 MB", "²", "٣", " 1")],
        *[(ReceiveSettings, "SOURCES", value) for value in ("{", "[]", "5", '"main"')],
        *[(ProcessSettings, "TOPICS", value) for value in ("{", "[]", "null")],
        *[(ProcessSettings, "TOPICS", json.dumps({TOPIC: source})) for source in ("nobody", "", None, [])],
        *[(ProcessSettings, "PUBLISH", value) for value in ("yes", "True", "1", "no")],
        *[(PruneSettings, "RETENTION", value) for value in ("{", "[]", "30")],
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_what_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch, reader: Reader, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=name):
        reader.from_environment()


@pytest.mark.parametrize(
    "source", [{"provider": "sendgird"}, {"provider": None}, {"provider": ["sendgrid"]}, {}, "sendgrid", None], ids=str
)
def test_a_source_without_a_known_provider_is_named_beside_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, source: object
) -> None:
    monkeypatch.setenv("SOURCES", json.dumps({"odd-one": source}))

    with pytest.raises(SettingsError, match=r"odd-one .* sendgrid"):
        ReceiveSettings.from_environment()


def test_a_window_below_the_floor_keeps_prune_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETENTION", json.dumps({"events": 3}))

    with pytest.raises(SettingsError, match=r"retention\.events must be a whole number of days from 4"):
        PruneSettings.from_environment()
