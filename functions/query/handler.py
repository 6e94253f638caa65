"""AWS calls this for each request on /v1, /healthz and /console."""

from datetime import UTC, datetime
from typing import Any

from mailfold.settings import QuerySettings
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.query import query
from mailfold.steps.query.context import QueryContext
from mailfold.steps.query.request import HttpRequest
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

settings = QuerySettings.from_environment()
telemetry = Telemetry("query")
database = Database(settings.database_url)
operate_context = OperateContext(
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
query_context = QueryContext(operate=operate_context)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one question in API Gateway's payload format 2.0."""
    response = query(
        HttpRequest.from_api_gateway(event), query_context, remaining_ms=context.get_remaining_time_in_millis
    )
    telemetry.flush()
    return response.for_api_gateway()
