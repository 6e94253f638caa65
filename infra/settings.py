"""Every knob of the stack: typed, ranged, and refused with one sentence when wrong."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from infra import connections
from infra.rules import Flag, OneOf, Rule, SettingsError, Text, Whole, check
from infra.sources import Source, check_sources, is_fed_by_topic, is_on_http
from mailfold.fold import SOFT_LIMIT as DEFAULT_SOFT_LIMIT
from mailfold.retention import DEFAULT_DAYS, FLOOR_DAYS

#: The key in cdk.json's context that holds all of it.
CONTEXT_KEY = "mailfold"

#: Days of retention that CloudWatch Logs accepts, by the name the CDK gives each.
LOG_RETENTION = {
    1: "ONE_DAY",
    3: "THREE_DAYS",
    7: "ONE_WEEK",
    14: "TWO_WEEKS",
    30: "ONE_MONTH",
    60: "TWO_MONTHS",
    90: "THREE_MONTHS",
    180: "SIX_MONTHS",
    365: "ONE_YEAR",
    731: "TWO_YEARS",
}

RULES: dict[str, Rule] = {
    "log_level": OneOf(("DEBUG", "INFO", "WARNING", "ERROR")),
    "log_retention_days": OneOf(tuple(LOG_RETENTION)),
    "tracing": Flag(),
    "throttle_rate": Whole(1, 10_000),
    "throttle_burst": Whole(1, 5_000),
    # A body that is neither text nor JSON arrives in base64, a third larger, inside an event of at most 6 MB:
    # https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    "max_body_bytes": Whole(65_536, 4_500_000),
    # https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
    "batch_size": Whole(1, 10_000),
    "batch_window_seconds": Whole(0, 300),
    "max_concurrency": Whole(2, 1_000),
    "query_concurrency": Whole(0, 1_000),
    "publish": Flag(),
    "alarm_email": Text(r"([^@\s]+@[^@\s]+\.[^@\s.]+)?", 'ops@example.com, or "" for nobody'),
    # Nobody asks for more patience than this, and one soft bounce is none.
    "soft_bounce_limit": Whole(2, 100),
    "database_class": Text(r"[a-z][a-z0-9]+\.(micro|small|medium|large|\d{0,2}xlarge)", "t4g.micro"),
    "database_storage_gb": Whole(20, 16_384),
    "database_max_storage_gb": Whole(20, 65_536),
    "database_backup_days": Whole(1, 35),
    "database_multi_az": Flag(),
    "database_insights": Flag(),
    "database_deletion_protection": Flag(),
}

LONGEST_RETENTION_DAYS = 3_650
RETENTION_RULES: dict[str, Rule] = {
    table: Whole(FLOOR_DAYS.get(table, 1), LONGEST_RETENTION_DAYS) for table in DEFAULT_DAYS
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What an operator may change about the stack; cdk.json spells out every default."""

    #: source name -> its provider and that provider's own settings
    sources: Mapping[str, Source] = field(
        default_factory=lambda: {name: {"provider": name} for name in ("sendgrid", "ses", "sesmetric")}
    )
    log_level: str = "INFO"
    log_retention_days: int = 30
    #: X-Ray, on every function
    tracing: bool = False
    #: requests a second, all sources together, and how many may come at once
    throttle_rate: int = 200
    throttle_burst: int = 400
    #: a larger request is answered 413
    max_body_bytes: int = 4_000_000
    #: records handed to one invocation of process, and how long to wait for them
    batch_size: int = 500
    batch_window_seconds: int = 1
    #: invocations of process at once, each with two connections at most
    max_concurrency: int = 5
    #: invocations of query at once, reserved for it; 0 reserves none, which is all that a new account's quota allows
    query_concurrency: int = 0
    #: soft bounces in a row, without a delivery, after which an address is stopped
    soft_bounce_limit: int = DEFAULT_SOFT_LIMIT
    #: whether changes are announced on an event bus
    publish: bool = False
    #: who is told when an alarm rings, besides whoever else subscribes to the topic
    alarm_email: str = ""
    #: days that prune keeps each kind of row
    retention: Mapping[str, int] = field(default_factory=lambda: dict(DEFAULT_DAYS))
    database_class: str = "t4g.micro"
    database_storage_gb: int = 20
    #: storage grows by itself up to here
    database_max_storage_gb: int = 100
    database_backup_days: int = 7
    database_multi_az: bool = False
    database_insights: bool = False
    database_deletion_protection: bool = True

    @classmethod
    def from_context(cls, context: object, *, providers: Collection[str] | None = None) -> "Settings":
        """Read the settings from cdk.json's context, or say in one sentence what is wrong with them."""
        given = _object(CONTEXT_KEY, {} if context is None else context)
        _known(CONTEXT_KEY, given, asdict(cls()))
        for key, rule in RULES.items():
            if key in given:
                check(f"{CONTEXT_KEY}.{key}", given[key], rule)
        settings = cls(**given)
        check_sources(f"{CONTEXT_KEY}.sources", settings.sources, providers)
        _check_retention(settings.retention)
        _check_together(settings)
        return settings

    @property
    def http_sources(self) -> tuple[str, ...]:
        """Name the sources that come over HTTP and so have a webhook URL."""
        return tuple(name for name, source in self.sources.items() if is_on_http(source))

    @property
    def topic_source(self) -> str | None:
        """Name the source that comes through the stack's own SNS topic, if there is one."""
        return next((name for name, source in self.sources.items() if is_fed_by_topic(source)), None)


def _object(key: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{key} must be an object, not {json.dumps(value, default=str)}.")
    return dict(value)


def _known(key: str, given: Mapping[str, object], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            raise SettingsError(f"{key}.{name} is not a setting; the settings are {', '.join(known)}.")


def _check_retention(retention: object) -> None:
    key = f"{CONTEXT_KEY}.retention"
    given = _object(key, retention)
    _known(key, given, RETENTION_RULES)
    for name, rule in RETENTION_RULES.items():
        if name not in given:
            raise SettingsError(f"{key}.{name} is missing; it must be {rule.words()} (days).")
        check(f"{key}.{name}", given[name], rule)
    if given["statuses"] < given["events"]:
        raise SettingsError(f"{key}.statuses must be at least {key}.events ({given['events']} days).")


def _check_together(settings: Settings) -> None:
    if settings.batch_size > 10 and settings.batch_window_seconds < 1:
        raise SettingsError(
            f"{CONTEXT_KEY}.batch_window_seconds must be from 1 to 300 when {CONTEXT_KEY}.batch_size is above 10."
        )
    if settings.database_max_storage_gb < settings.database_storage_gb:
        raise SettingsError(
            f"{CONTEXT_KEY}.database_max_storage_gb must be at least "
            f"{CONTEXT_KEY}.database_storage_gb ({settings.database_storage_gb})."
        )
    sentence = connections.refusal(settings, prefix=CONTEXT_KEY)
    if sentence:
        raise SettingsError(sentence)
