"""The queue, its reader, and the queues for what could not be handed on."""

import json
from collections.abc import Iterator
from typing import Any

from cli.checks.examination import Examination, Finding, NotChecked, Resource, Said


def check_queue(exam: Examination) -> Iterator[Said]:
    """Hold the queue against its template."""
    url = exam.place.output("QueueUrl")
    actual, wanted = exam.main_queue, _main(exam).wanted
    change = f"aws sqs set-queue-attributes --queue-url {url} --attributes"
    dead_letters = (exam.queue(exam.place.output("DeadLetterQueueUrl")) or {}).get("QueueArn")
    policy = json.loads(actual.get("RedrivePolicy") or "{}")
    most = int(wanted["RedrivePolicy"]["maxReceiveCount"])
    redrive = json.dumps({"RedrivePolicy": json.dumps({"deadLetterTargetArn": dead_letters, "maxReceiveCount": most})})
    if not policy:
        yield Finding(what="the queue has no dead-letter queue", fix=f"{change} '{redrive}'")
    elif policy.get("deadLetterTargetArn") != dead_letters:
        yield Finding(what="the dead-letter queue of the queue is another one", fix=f"{change} '{redrive}'")
    elif int(policy["maxReceiveCount"]) != most:
        what = f"a record leaves the queue after {policy['maxReceiveCount']} receives, not after {most}"
        yield Finding(what=what, fix=f"{change} '{redrive}'")
    retention = wanted["MessageRetentionPeriod"]
    if int(actual["MessageRetentionPeriod"]) < int(retention):
        what = f"the queue keeps a record for {actual['MessageRetentionPeriod']} s, not for {retention}"
        yield Finding(what=what, fix=f"{change} MessageRetentionPeriod={retention}")
    yield from _visibility(exam, actual, wanted, change)


def _visibility(exam: Examination, actual: dict[str, Any], wanted: Any, change: str) -> Iterator[Said]:
    least = int(wanted["VisibilityTimeout"])
    if exam.place.local is None:
        # The local template lowers it on purpose. Lambda reads no queue that hides a record for less than a run of its
        # function: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
        least = max(least, int(exam.functions.get("process", {}).get("Timeout", 0)))
    if int(actual["VisibilityTimeout"]) < least:
        yield Finding(
            what=f"a record is hidden for {actual['VisibilityTimeout']} s, but its reader needs {least}",
            fix=f"{change} VisibilityTimeout={least}",
        )


def _main(exam: Examination) -> Resource:
    url = exam.place.output("QueueUrl")
    return next(each for each in exam.of_kind("AWS::SQS::Queue").values() if each.name == url)


def check_dead_letter_queues(exam: Examination) -> Iterator[Said]:
    """Look whether each is there, and empty."""
    for logical, each in exam.of_kind("AWS::SQS::Queue").items():
        if each.name == exam.place.output("QueueUrl"):
            continue
        part = logical.partition("DeadLetters")[0].lower()
        found = exam.queue(each.name)
        if found is None:
            yield Finding(
                what=f"the dead-letter queue of {part} is not there",
                fix=f"aws sqs create-queue --queue-name {each.name.rpartition('/')[2]}, with the template's settings",
            )
        elif count := int(found["ApproximateNumberOfMessages"]):
            look = f"aws sqs receive-message --queue-url {each.name} tells why; then aws sqs purge-queue"
            main = "repair what failed, then move them back: bin/mailfold dead-letters queue"
            yield Finding(
                what=f"the dead-letter queue of {part} holds {count} record{'s' * (count > 1)}",
                fix=main if part == "queue" else look,
            )


def check_mapping(exam: Examination) -> Iterator[Said]:
    """Look at what hands the queue's records to process."""
    [resource] = exam.of_kind("AWS::Lambda::EventSourceMapping").values()
    found = exam.ask("lambda", "get_event_source_mapping", UUID=resource.name)
    process, queue = exam.functions.get("process"), exam.main_queue["QueueArn"]
    if process is None:
        raise NotChecked("there is no function process")
    if found is None:
        yield Finding(
            what="nothing reads the queue: its mapping to process is not there",
            fix=f"aws lambda create-event-source-mapping --function-name {process['FunctionName']} "
            f"--event-source-arn {queue} --function-response-types ReportBatchItemFailures",
        )
        return
    change = f"aws lambda update-event-source-mapping --uuid {resource.name}"
    if found["State"] not in {"Enabled", "Enabling", "Updating", "Creating"}:
        what = f"nothing reads the queue: its mapping to process is {found['State'].lower()}"
        yield Finding(what=what, fix=f"{change} --enabled")
    if "ReportBatchItemFailures" not in found.get("FunctionResponseTypes", []):
        yield Finding(
            what="one failed record brings back its whole batch: the mapping does not report batch item failures",
            fix=f"{change} --function-response-types ReportBatchItemFailures",
        )
    if found["EventSourceArn"] != queue or found["FunctionArn"] != process["FunctionArn"]:
        yield Finding(
            what="the mapping does not lead from the queue to process",
            fix=f"{change} --function-name {process['FunctionName']}",
        )
