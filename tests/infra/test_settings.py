"""Every wrong value is refused with one sentence that names it and says what is allowed."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from infra.rules import SettingsError
from infra.settings import RULES, Settings
from infra.sources import LARGEST_SOURCES_BYTES, TOPIC_PROVIDER, known_providers
from mailfold.providers import REGISTRY
from mailfold.retention import check_retention
from tests.infra.template import ROOT

RETENTION = {"events": 30, "statuses": 90, "claims": 30, "outbox": 7, "dead_letters": 90}
PROVIDERS = ("sendgrid", "ses", "sesmetric")

WRONG: list[tuple[Any, str, str]] = [
    ("many", "mailfold", "an object"),
    ({"batchsize": 10}, "mailfold.batchsize", "the settings are sources, log_level"),
    ({"batch_size": 0}, "mailfold.batch_size", "from 1 to 10000"),
    ({"soft_bounce_limit": 1}, "mailfold.soft_bounce_limit", "from 2 to 100"),
    ({"batch_size": 10_001}, "mailfold.batch_size", "from 1 to 10000"),
    ({"batch_size": "500"}, "mailfold.batch_size", "whole number"),
    ({"batch_size": True}, "mailfold.batch_size", "whole number"),
    ({"batch_size": 1.5}, "mailfold.batch_size", "whole number"),
    ({"batch_size": None}, "mailfold.batch_size", "whole number"),
    ({"batch_size": 11, "batch_window_seconds": 0}, "mailfold.batch_window_seconds", "from 1 to 300"),
    ({"batch_window_seconds": 301}, "mailfold.batch_window_seconds", "from 0 to 300"),
    ({"max_concurrency": 1}, "mailfold.max_concurrency", "from 2 to 1000"),
    ({"max_concurrency": 11}, "mailfold.max_concurrency", "take at most 10 or a larger class"),
    ({"max_concurrency": 11}, "mailfold.database_class t4g.micro", "larger class"),
    ({"query_concurrency": 1001}, "mailfold.query_concurrency", "from 0 to 1000"),
    ({"query_concurrency": 18}, "mailfold.query_concurrency", "take at most 17 or a larger class"),
    ({"query_concurrency": 40}, "mailfold.query_concurrency", "t4g.micro has 72"),
    ({"max_body_bytes": 6_000_000}, "mailfold.max_body_bytes", "from 65536 to 4500000"),
    ({"throttle_rate": 0}, "mailfold.throttle_rate", "from 1 to 10000"),
    ({"throttle_burst": 5_001}, "mailfold.throttle_burst", "from 1 to 5000"),
    ({"log_level": "info"}, "mailfold.log_level", "DEBUG, INFO, WARNING, ERROR"),
    ({"log_retention_days": 31}, "mailfold.log_retention_days", "one of 1, 3, 7"),
    ({"log_retention_days": True}, "mailfold.log_retention_days", "one of 1, 3, 7"),
    ({"tracing": "no"}, "mailfold.tracing", "true or false"),
    ({"alarm_email": "ops"}, "mailfold.alarm_email", "ops@example.com"),
    ({"alarm_email": None}, "mailfold.alarm_email", "ops@example.com"),
    ({"publish": 1}, "mailfold.publish", "true or false"),
    ({"database_class": "db.t4g.micro"}, "mailfold.database_class", "t4g.micro"),
    ({"database_storage_gb": 10}, "mailfold.database_storage_gb", "from 20 to"),
    ({"database_max_storage_gb": 19}, "mailfold.database_max_storage_gb", "from 20 to"),
    ({"database_storage_gb": 200}, "mailfold.database_max_storage_gb", "at least"),
    ({"database_backup_days": 0}, "mailfold.database_backup_days", "from 1 to 35"),
    ({"database_multi_az": "true"}, "mailfold.database_multi_az", "true or false"),
    ({"database_insights": 0}, "mailfold.database_insights", "true or false"),
    ({"database_deletion_protection": "off"}, "mailfold.database_deletion_protection", "true or false"),
    ({"retention": 30}, "mailfold.retention", "an object"),
    ({"retention": {**RETENTION, "events": 3}}, "mailfold.retention.events", "from 4 to 3650"),
    ({"retention": {**RETENTION, "claims": 3}}, "mailfold.retention.claims", "from 4 to 3650"),
    ({"retention": {**RETENTION, "outbox": 0}}, "mailfold.retention.outbox", "from 1 to 3650"),
    ({"retention": {**RETENTION, "totals": 3}}, "mailfold.retention.totals", "events, statuses"),
    ({"retention": {"events": 30}}, "mailfold.retention.statuses", "from 4 to 3650"),
    ({"retention": {**RETENTION, "statuses": 29}}, "mailfold.retention.statuses", "at least"),
    ({"sources": {}}, "mailfold.sources", "at least one source"),
    ({"sources": ["sendgrid"]}, "mailfold.sources", "an object"),
    ({"sources": {"SendGrid": {"provider": "sendgrid"}}}, "mailfold.sources", '"SendGrid"'),
    ({"sources": {"a/b": {"provider": "sendgrid"}}}, "mailfold.sources", '"a/b"'),
    ({"sources": {"a-1": {"provider": "sendgrid"}}}, "mailfold.sources", '"a-1"'),
    ({"sources": {"x" * 33: {"provider": "sendgrid"}}}, "mailfold.sources", '"sendgrid-eu"'),
    ({"sources": {"sendgrid": "sendgrid"}}, "mailfold.sources.sendgrid", "names its provider"),
    ({"sources": {"sendgrid": {"key": "x"}}}, "mailfold.sources.sendgrid", "names its provider"),
    ({"sources": {"pigeon": {"provider": "pigeon"}}}, "mailfold.sources.pigeon.provider", "sendgrid, ses, sesmetric"),
    ({"sources": {"a": {"provider": "ses"}, "b": {"provider": "ses"}}}, "mailfold.sources", "one source fed by"),
    ({"sources": {"a": {"provider": "sendgrid", "x": "y" * LARGEST_SOURCES_BYTES}}}, "mailfold.sources", "3000 bytes"),
]


@pytest.mark.parametrize(("context", "key", "allowed"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_value_is_refused_with_one_sentence(context: Any, key: str, allowed: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_context(context, providers=PROVIDERS)

    sentence = str(refused.value)
    assert key in sentence
    assert allowed in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_every_knob_has_a_rule_and_a_refusal() -> None:
    refused = {name for context, _, _ in WRONG if isinstance(context, dict) for name in context}

    assert set(asdict(Settings())) == {*RULES, "sources", "retention"}
    assert set(asdict(Settings())) <= refused


def test_cdk_json_spells_out_the_defaults() -> None:
    context = json.loads((ROOT / "cdk.json").read_text())["context"]["mailfold"]

    assert context == asdict(Settings())
    assert Settings.from_context(context, providers=PROVIDERS) == Settings()
    assert Settings.from_context(None) == Settings()


def test_the_ends_of_a_range_are_allowed() -> None:
    settings = Settings.from_context({"batch_size": 10_000, "batch_window_seconds": 300, "max_concurrency": 2})

    assert (settings.batch_size, settings.batch_window_seconds, settings.max_concurrency) == (10_000, 300, 2)


@pytest.mark.parametrize(("options", "webhooks"), [({}, ("eu",)), ({"http": True}, ("eu", "aws"))])
def test_ses_has_a_webhook_only_when_it_asks_for_one(options: dict[str, Any], webhooks: tuple[str, ...]) -> None:
    sources = {"eu": {"provider": "sendgrid"}, "aws": {"provider": "ses", **options}}

    settings = Settings.from_context({"sources": sources}, providers=known_providers())

    assert settings.http_sources == webhooks
    assert settings.topic_source == "aws"


def test_the_providers_are_the_ones_of_the_package() -> None:
    assert set(known_providers() or ()) == set(REGISTRY)
    assert [name for name, provider in REGISTRY.items() if provider.unwrap] == [TOPIC_PROVIDER]


def test_prune_accepts_what_the_stack_accepts() -> None:
    assert check_retention(Settings().retention) == Settings().retention


def test_the_app_leaves_with_the_sentence_and_no_traceback(tmp_path: Path) -> None:
    environment = os.environ | {
        "CDK_OUTDIR": str(tmp_path / "out"),
        "CDK_CONTEXT_JSON": json.dumps({"mailfold": {"batch_size": 0}}),
    }

    done = subprocess.run(
        [sys.executable, str(ROOT / "app.py")], env=environment, capture_output=True, text=True, cwd=tmp_path
    )

    assert done.returncode == 1
    assert done.stderr == "cdk.json: mailfold.batch_size must be a whole number from 1 to 10000, not 0.\n"
