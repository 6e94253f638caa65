"""The environment of the functions: the only place that reads it, and it refuses what is wrong at once."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mailfold.access import Access, Credentials
from mailfold.errors import SettingsError
from mailfold.providers import REGISTRY
from mailfold.request import Source
from mailfold.retention import check_retention


@dataclass(frozen=True, kw_only=True)
class ReceiveSettings:
    """What receive is told."""

    sources: Mapping[str, Source]
    secret_id: str
    queue_url: str
    #: The DynamoDB table of the keys that keyed sources send.
    claim_table: str
    max_body_bytes: int
    aws: Access

    @classmethod
    def from_environment(cls) -> "ReceiveSettings":
        """Read them."""
        return cls(
            sources=_sources(),
            secret_id=_text("SECRET_ID"),
            queue_url=_text("QUEUE_URL"),
            claim_table=_text("CLAIM_TABLE"),
            max_body_bytes=_number("MAX_BODY_BYTES"),
            aws=_access(),
        )


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """What process is told."""

    sources: Mapping[str, Source]
    #: Which source the notifications of an SNS topic belong to.
    topics: Mapping[str, str]
    database_url: str
    publish: bool

    @classmethod
    def from_environment(cls) -> "ProcessSettings":
        """Read them."""
        sources = _sources()
        return cls(
            sources=sources,
            topics=_topics(sources),
            database_url=_text("DATABASE_URL"),
            publish=_flag("PUBLISH"),
        )


@dataclass(frozen=True, kw_only=True)
class PruneSettings:
    """What prune is told."""

    database_url: str
    retention: Mapping[str, int]

    @classmethod
    def from_environment(cls) -> "PruneSettings":
        """Read them."""
        return cls(database_url=_text("DATABASE_URL"), retention=check_retention(_object("RETENTION")))


@dataclass(frozen=True, kw_only=True)
class SweepSettings:
    """What sweep is told."""

    database_url: str
    soft_limit: int
    publish: bool

    @classmethod
    def from_environment(cls) -> "SweepSettings":
        """Read them."""
        return cls(database_url=_text("DATABASE_URL"), soft_limit=_number("SOFT_LIMIT"), publish=_flag("PUBLISH"))


@dataclass(frozen=True, kw_only=True)
class PublishSettings:
    """What publish is told."""

    database_url: str
    bus_name: str

    @classmethod
    def from_environment(cls) -> "PublishSettings":
        """Read them."""
        return cls(database_url=_text("DATABASE_URL"), bus_name=_text("BUS_NAME"))


@dataclass(frozen=True, kw_only=True)
class WatchSettings:
    """What watch is told."""

    sources: Mapping[str, Source]
    database_url: str

    @classmethod
    def from_environment(cls) -> "WatchSettings":
        """Read them."""
        return cls(sources=_sources(), database_url=_text("DATABASE_URL"))


@dataclass(frozen=True, kw_only=True)
class OperateSettings:
    """What operate is told."""

    sources: Mapping[str, Source]
    topics: Mapping[str, str]
    database_url: str
    publish: bool
    soft_limit: int
    retention: Mapping[str, int]

    @classmethod
    def from_environment(cls) -> "OperateSettings":
        """Read them."""
        sources = _sources()
        return cls(
            sources=sources,
            topics=_topics(sources),
            database_url=_text("DATABASE_URL"),
            publish=_flag("PUBLISH"),
            soft_limit=_number("SOFT_LIMIT"),
            retention=check_retention(_object("RETENTION")),
        )


@dataclass(frozen=True, kw_only=True)
class QuerySettings(OperateSettings):
    """What query is told: the same as operate, because a dead letter can be folded again from both."""


@dataclass(frozen=True, kw_only=True)
class MigrateSettings:
    """What migrate is told."""

    database_url: str
    #: Login role -> how many connections it may have at once; a role that is not named keeps its limit.
    connection_limits: Mapping[str, int]

    @classmethod
    def from_environment(cls) -> "MigrateSettings":
        """Read them."""
        return cls(database_url=_text("DATABASE_URL"), connection_limits=_connection_limits())


def _sources() -> dict[str, Source]:
    sources = {}
    for name, options in _object("SOURCES").items():
        provider = options.get("provider") if isinstance(options, dict) else None
        if not isinstance(provider, str) or provider not in REGISTRY:
            raise SettingsError(f"SOURCES: {name} names no known provider; known are {', '.join(sorted(REGISTRY))}")
        sources[name] = Source(name=name, provider=provider, options=options)
        check = REGISTRY[provider].check
        if check is not None:
            check(sources[name])
    return sources


def _topics(sources: Mapping[str, Source]) -> dict[str, str]:
    topics = _object("TOPICS")
    for topic, source in topics.items():
        if not isinstance(source, str) or source not in sources:
            raise SettingsError(f"TOPICS: {topic} belongs to no source of SOURCES")
    return topics


def _connection_limits() -> dict[str, int]:
    # A database on one's own machine may do without.
    limits = _object("CONNECTION_LIMITS") if "CONNECTION_LIMITS" in os.environ else {}
    for role, limit in limits.items():
        if not role.startswith("mailfold_") or type(limit) is not int or limit < 1:
            raise SettingsError(f"CONNECTION_LIMITS: {role} must be a role of ours with a whole number above 0")
    return limits


def _access() -> Access:
    """Read what Lambda sets, and the addresses that the AWS SDKs would take from the same variables."""
    everywhere = os.environ.get("AWS_ENDPOINT_URL")
    own = {"sqs": "AWS_ENDPOINT_URL_SQS", "secretsmanager": "AWS_ENDPOINT_URL_SECRETS_MANAGER"}
    endpoints = {service: os.environ.get(name) or everywhere for service, name in own.items()}
    return Access(
        region=_text("AWS_REGION"),
        credentials=_credentials,
        endpoints={service: url for service, url in endpoints.items() if url},
    )


def _credentials() -> Credentials:
    return Credentials(
        access_key=_text("AWS_ACCESS_KEY_ID"),
        secret_key=_text("AWS_SECRET_ACCESS_KEY"),
        token=os.environ.get("AWS_SESSION_TOKEN"),
    )


def _text(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise SettingsError(f"the environment variable {name} is missing")
    return value


def _number(name: str) -> int:
    value = _text(name)
    # isdigit() alone also takes "²", which int() does not.
    if not (value.isascii() and value.isdigit()):
        raise SettingsError(f"{name} must be a whole number, not {value!r}")
    return int(value)


def _flag(name: str) -> bool:
    value = _text(name)
    if value not in {"true", "false"}:
        raise SettingsError(f"{name} must be true or false, not {value!r}")
    return value == "true"


def _object(name: str) -> dict[str, Any]:
    try:
        value = json.loads(_text(name))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise SettingsError(f"{name} must be a JSON object")
    return value
