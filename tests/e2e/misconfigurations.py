"""The misconfigurations that doctor must find, what it says of each, and how it is fixed."""

import json

from tests.e2e.inject import (
    Misconfiguration,
    admitting_everybody,
    destination,
    left_over,
    queue,
    secrets,
    sql,
    subscription,
    told_otherwise,
    unmapped,
    unscheduled,
    unsubscribed,
)

EVERY_TYPE = "BOUNCE,CLICK,COMPLAINT,DELIVERY,DELIVERY_DELAY,OPEN,REJECT,RENDERING_FAILURE,SEND,SUBSCRIPTION"
PUBLISH_ALL = (
    "aws sesv2 update-configuration-set-event-destination --configuration-set-name … --event-destination-name … "
    f"--event-destination 'Enabled=true,SnsDestination={{TopicArn=…}},MatchingEventTypes=[{EVERY_TYPE}]'"
)
SUBSCRIPTION = "aws sns set-subscription-attributes --subscription-arn … --attribute-name"
QUEUE = "aws sqs set-queue-attributes --queue-url … --attributes"
REDRIVE = r"""'{"RedrivePolicy": "{\"deadLetterTargetArn\": \"…\", \"maxReceiveCount\": 159}"}'"""
MIGRATE = "aws lambda invoke --function-name … /dev/stdout"

PREVIOUS = "; the version before this one (AWSPREVIOUS) has one"

MISCONFIGURATIONS = (
    Misconfiguration(
        name="a source without a secret",
        says=f"sesmetric has no secret{PREVIOUS}",
        fix="bin/mailfold secrets restore",
        planted=secrets(lambda held: {name: held[name] for name in held if name != "sesmetric"}),
    ),
    Misconfiguration(
        name="a secret that is no list",
        says=f"the secret of mailgun is not a list of texts{PREVIOUS}",
        fix="bin/mailfold secrets restore",
        planted=secrets(lambda held: {**held, "mailgun": held["mailgun"][0]}),
    ),
    Misconfiguration(
        name="a secret of another provider",
        says=f"a secret of sendgrid is no public key of SendGrid's signed event webhook, nor a credential{PREVIOUS}",
        fix="bin/mailfold secrets restore",
        planted=secrets(lambda held: {**held, "sendgrid": held["mailgun"]}),
    ),
    Misconfiguration(
        name="three secrets at once",
        says="mailtrap has 3 secrets, and each of them opens the door",
        fix="bin/mailfold secrets rotate mailtrap --finish",
        planted=secrets(
            lambda held: {**held, "mailtrap": [*held["mailtrap"], "older-4c1f0a9d27be", "oldest-9be2d7450c1f"]}
        ),
    ),
    Misconfiguration(
        name="an entry of nobody",
        says="the secret has an entry sendgird, which is no source",
        fix="bin/mailfold secrets remove sendgird",
        planted=secrets(lambda held: {**held, "sendgird": held["sendgrid"]}),
    ),
    Misconfiguration(
        name="no subscription",
        says="the topic is not subscribed to the queue",
        fix="aws sns subscribe --topic-arn … --protocol sqs --notification-endpoint …",
        planted=unsubscribed,
    ),
    Misconfiguration(
        name="raw delivery",
        says="raw delivery is on, so that nobody can tell which topic a notification comes from",
        fix=f"{SUBSCRIPTION} RawMessageDelivery --attribute-value false",
        planted=subscription("RawMessageDelivery", "true"),
    ),
    Misconfiguration(
        name="a subscription without a dead-letter queue",
        says="the subscription has no dead-letter queue",
        fix=f"""{SUBSCRIPTION} RedrivePolicy --attribute-value '{{"deadLetterTargetArn": "…"}}'""",
        planted=subscription("RedrivePolicy", "{}"),
    ),
    Misconfiguration(
        name="a queue that believes everybody",
        says="the queue's policy lets in others than the topic, and they are believed",
        fix="put back the policy of the template; both are shown by "
        "aws cloudformation detect-stack-drift --stack-name Mailfold",
        planted=queue("Policy", admitting_everybody),
    ),
    Misconfiguration(
        name="an event type that SES does not publish",
        says="the configuration set does not publish COMPLAINT",
        fix=PUBLISH_ALL,
        planted=destination(
            lambda it: {"MatchingEventTypes": [t for t in it["MatchingEventTypes"] if t != "COMPLAINT"]}
        ),
    ),
    Misconfiguration(
        name="a disabled event destination",
        says="the event destination of the configuration set is disabled",
        fix=PUBLISH_ALL,
        planted=destination(lambda _: {"Enabled": False}),
    ),
    Misconfiguration(
        name="a queue without a dead-letter queue",
        says="the queue has no dead-letter queue",
        fix=f"{QUEUE} {REDRIVE}",
        planted=queue("RedrivePolicy", lambda *_: ""),
    ),
    Misconfiguration(
        name="too few receives",
        says="a record leaves the queue after 3 receives, not after 159",
        fix=f"{QUEUE} {REDRIVE}",
        planted=queue("RedrivePolicy", lambda old, _: json.dumps({**json.loads(old), "maxReceiveCount": 3})),
    ),
    Misconfiguration(
        name="records that come back too early",
        says="a record is hidden for 2 s, but its reader needs 10",
        fix=f"{QUEUE} VisibilityTimeout=10",
        planted=queue("VisibilityTimeout", lambda *_: "2"),
    ),
    Misconfiguration(
        name="something in a dead-letter queue",
        says="the dead-letter queue of prune holds 1 record",
        fix="aws sqs receive-message --queue-url … tells why; then aws sqs purge-queue",
        planted=left_over,
    ),
    Misconfiguration(
        name="a disabled mapping",
        says="nothing reads the queue: its mapping to process is disabled",
        fix="aws lambda update-event-source-mapping --uuid … --enabled",
        planted=unmapped,
    ),
    Misconfiguration(
        name="functions that are told different sources",
        says="watch is told another SOURCES than the template says",
        fix="put it back in the environment: aws lambda update-function-configuration --function-name …",
        planted=told_otherwise,
    ),
    Misconfiguration(
        name="a disabled schedule",
        says="nothing calls prune: its schedule is disabled",
        fix="enable it, its other settings as they are: aws scheduler update-schedule --name …",
        planted=unscheduled,
    ),
    Misconfiguration(
        name="a migration that is missing",
        says="the migration 0002_soft_and_manual_stops.sql is not applied",
        fix=MIGRATE,
        planted=sql(
            "create table lost as select * from schema_migrations where version = 2;"
            "delete from schema_migrations where version = 2",
            "insert into schema_migrations select * from lost; drop table lost",
        ),
    ),
    Misconfiguration(
        name="a role that lost a right",
        says="mailfold_process may not insert on dead_letters",
        fix=MIGRATE,
        planted=sql(
            "revoke insert on dead_letters from mailfold_process", "grant insert on dead_letters to mailfold_process"
        ),
    ),
    Misconfiguration(
        name="a role that may too much",
        says="mailfold_process may delete on suppressions, which its step does not need",
        fix="as mailfold_owner: revoke delete on suppressions from mailfold_process",
        planted=sql(
            "grant delete on suppressions to mailfold_process", "revoke delete on suppressions from mailfold_process"
        ),
    ),
    Misconfiguration(
        name="a role without its limit",
        says="mailfold_prune has no lock_timeout of 2s",
        fix=MIGRATE,
        planted=sql(
            "alter role mailfold_prune reset lock_timeout", "alter role mailfold_prune set lock_timeout = '2s'"
        ),
    ),
)
