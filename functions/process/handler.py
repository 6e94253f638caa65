"""AWS calls this with each batch of records from the queue."""

from typing import Any

from mailfold.queue import Record
from mailfold.settings import ProcessSettings
from mailfold.steps.process import ProcessContext, process
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry

settings = ProcessSettings.from_environment()
telemetry = Telemetry("process")
database = Database(settings.database_url)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Fold one batch and name the records that must come again."""
    process_context = ProcessContext(
        database=database,
        sources=settings.sources,
        topics=settings.topics,
        publish=settings.publish,
        remaining_ms=context.get_remaining_time_in_millis,
        telemetry=telemetry,
    )
    outcome = process([Record.from_sqs(record) for record in event["Records"]], process_context)
    telemetry.flush()
    return {"batchItemFailures": [{"itemIdentifier": record_id} for record_id in outcome.failed]}
