"""AWS calls this for each request on /v1, /healthz and /console."""

from datetime import UTC, datetime
from typing import Any

from mailfold.settings import QuerySettings
from mailfold.steps.operate.office import Office
from mailfold.steps.query import query
from mailfold.steps.query.keeper import Keeper
from mailfold.steps.query.question import Question
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

settings = QuerySettings.from_environment()
telemetry = Telemetry("query")
database = Database(settings.database_url)
office = Office(
    database=database,
    sources=settings.sources,
    topics=settings.topics,
    publish=settings.publish,
    soft_limit=settings.soft_limit,
    retention=settings.retention,
    by="nobody",
    now=datetime.now(UTC),
    remaining_ms=lambda: 0,
    telemetry=telemetry,
)
keeper = Keeper(office=office)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one question in API Gateway's payload format 2.0."""
    answer = query(Question.from_api_gateway(event), keeper, remaining_ms=context.get_remaining_time_in_millis)
    telemetry.flush()
    return answer.for_api_gateway()
