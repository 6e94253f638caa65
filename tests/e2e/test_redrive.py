"""Dead letters and dead records on the running stack: back to where they belong, exactly once, live traffic first."""

import json
import subprocess
import uuid
from datetime import UTC, datetime
from typing import Any

import pg8000.native

from cli.local_aws import client
from cli.local_stack import Stack
from local.options import ROOT
from samples import Keys, sampler, signed
from tests.e2e.support import LocalRun, await_that
from tests.e2e.test_pipeline import post
from tests.support.captured import event
from tests.support.records import envelope, raw


def mailfold(running: LocalRun, *words: str) -> tuple[int, Any]:
    command = [ROOT / "bin/mailfold", "--local", *words, "--json"]
    done = subprocess.run(command, env=running.environment, stdout=subprocess.PIPE, text=True, timeout=100)
    return done.returncode, json.loads(done.stdout)


def test_a_broken_adapter_costs_nothing_but_time(running: LocalRun, database: pg8000.native.Connection) -> None:
    # Other tests share the stack, and the drill takes all dead letters for its own.
    database.run("delete from dead_letters")

    # Its exit status also tells how late live events came: that is for `make prove ONLY=redrive`, on a quiet machine.
    _, words = running.call("local.redrive_drill", "--events", "300", "--calm", "3", "--json")

    outcome = json.loads(words.splitlines()[-1])
    assert (outcome["while_broken"]["tried"]["left"], outcome["when_mended"]["done"]["new"]) == (300, 300)
    for line in outcome["lines"]:
        assert (line["lost"], line["doubled"], line["dead"]) == (0, 0, 0)


def test_dead_records_go_back_onto_the_queue(
    running: LocalRun, stack: Stack, database: pg8000.native.Connection
) -> None:
    sqs = client("sqs", stack.aws_endpoint)
    good = envelope(raw("redriven"), source="main").replace('"source":"main"', '"source":"sesmetric"')
    for body in (good, "hello"):
        sqs.send_message(QueueUrl=stack.dlq_url, MessageBody=body)
    [topic_queue] = [url for url in sqs.list_queues()["QueueUrls"] if "FeedbackDeadLetters" in url]
    record = sampler("ses").SAMPLES["Delivery"]
    notification = {
        "Type": "Notification",
        "MessageId": "n1",
        "TopicArn": stack.topic_arn,
        "Message": json.dumps(record),
    }
    sqs.send_message(QueueUrl=topic_queue, MessageBody=json.dumps(notification))

    listed = mailfold(running, "dead-letters", "queue")
    moved = mailfold(running, "dead-letters", "queue", "redrive", "--apply", "--yes")

    assert listed[0] == 0
    assert listed[1]["outcomes"] == {"would be sent": 2, "left": 1}
    assert moved[0] == 1
    assert moved[1]["done"]["outcomes"] == {"sent": 2, "left": 1}
    await_that(lambda: database.run("select from email_events where event_id = 'sesmetric:redriven'"))
    await_that(lambda: database.run("select from claims where claim_key = 'ses:sns:n1'"))
    assert waiting(sqs, stack.dlq_url) == 1
    assert waiting(sqs, topic_queue) == 0
    sqs.purge_queue(QueueUrl=stack.dlq_url)


def test_a_forged_event_under_a_captured_token_stays_out(
    running: LocalRun, stack: Stack, database: pg8000.native.Connection
) -> None:
    run = uuid.uuid4().hex
    genuine, forged = event(f"genuine-{run}"), event(f"ceo-{run}", "complained")
    source, sender = stack.sources["mailgun"], sampler("mailgun")
    keys = Keys(secret=source.secret or "", signer=source.signer or "")
    body, headers = signed(sender, sender.body([genuine]), keys, datetime.now(UTC))
    captured = json.loads(body)["signature"]
    assert post(stack, "mailgun", body, headers) == (200, b'{"events": 1}')
    await_that(lambda: database.run("select from email_events where recipient = :who", who=genuine["recipient"]))

    other = json.dumps({"signature": captured, "event-data": forged}).encode()
    assert post(stack, "mailgun", other, headers) == (200, b'{"events": 1}')
    key = "select dead_letter_id from dead_letters where unproven and position(:run in raw) > 0"
    await_that(lambda: database.run(key, run=run))
    [[dead_letter]] = database.run(key, run=run)

    code, told = mailfold(running, "dead-letters", "redrive", "--all", "--apply", "--yes")

    assert code == 1
    assert told["tried"]["left_out"] >= 1
    assert "authenticity check" in told["tried"]["left_out_reason"]
    assert database.run(key, run=run) == [[dead_letter]]
    assert mailfold(running, "recipient", forged["recipient"])[1]["may_be_mailed"] is True

    code, told = mailfold(running, "dead-letters", "redrive", dead_letter, "--unproven", "--apply", "--yes")

    assert (code, told["done"]["new"]) == (0, 1)
    assert mailfold(running, "recipient", forged["recipient"])[1]["may_be_mailed"] is False


def waiting(sqs: Any, url: str) -> int:
    name = "ApproximateNumberOfMessages"
    return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])
