"""A person's command line calls this, in the person's own name."""

from datetime import UTC, datetime
from typing import Any

from mailfold.settings import OperateSettings
from mailfold.steps.operate import operate
from mailfold.steps.operate.context import OperateContext
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

settings = OperateSettings.from_environment()
telemetry = Telemetry("operate")
database = Database(settings.database_url, patience_s=55)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Carry out one order and answer it."""
    operate_context = OperateContext(
        database=database,
        sources=settings.sources,
        topics=settings.topics,
        publish=settings.publish,
        soft_limit=settings.soft_limit,
        retention=settings.retention,
        by=str(event.get("by") or "unknown"),
        now=datetime.now(UTC),
        remaining_ms=context.get_remaining_time_in_millis,
        telemetry=telemetry,
    )
    answer = operate(event, operate_context)
    telemetry.flush()
    return answer
