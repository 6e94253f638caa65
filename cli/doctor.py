"""mailfold doctor: finds what is misconfigured, and says how to fix it."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from cli.checks.clock import check_clock
from cli.checks.door import check_door
from cli.checks.examination import Check, Examination, Finding, NotChecked, Note, Said, Skipped
from cli.checks.feedback import check_configuration_set, check_topic
from cli.checks.functions import check_functions, check_schedules
from cli.checks.probe import check_probe
from cli.checks.queues import check_dead_letter_queues, check_mapping, check_queue
from cli.checks.secrets import check_secrets
from cli.checks.store import check_database, check_roles, check_schema, check_work
from cli.errors import DONE, FOUND, CommandError
from cli.place import Place
from cli.show import as_json, plain, working

#: In the order in which an event passes; docs/doctor.md has the same list.
CHECKS = (
    Check(name="secrets", looks_at="each source's secrets: there, of the right form, not too many", run=check_secrets),
    Check(
        name="topic", looks_at="SNS: subscribed, wrapped, with a dead-letter queue; the queue's policy", run=check_topic
    ),
    Check(
        name="ses",
        looks_at="the configuration set publishes every event type to the topic",
        run=check_configuration_set,
    ),
    Check(name="queue", looks_at="dead-letter queue, receives, visibility and retention of the queue", run=check_queue),
    Check(name="dead_letters", looks_at="every dead-letter queue is there and empty", run=check_dead_letter_queues),
    Check(name="mapping", looks_at="what hands the queue's records to process", run=check_mapping),
    Check(name="functions", looks_at="all functions, and that they are told the same", run=check_functions),
    Check(name="schedules", looks_at="the clock calls; failed runs are heard of", run=check_schedules),
    Check(name="database", looks_at="operate answers, and reaches the database", run=check_database),
    Check(name="schema", looks_at="migrations and indexes, held against the deployed package", run=check_schema),
    Check(name="roles", looks_at="logins, rights and limits, held against roles.sql", run=check_roles),
    Check(name="work", looks_at="connections, prune, outbox, dead letters, quiet sources", run=check_work),
    Check(name="clock", looks_at="this machine, AWS and the database agree on the time", run=check_clock),
    Check(name="door", looks_at="the door answers, and is shut for the unproven", run=check_door),
    Check(
        name="probe", looks_at="a signed event of each source, through the door to its row and back", run=check_probe
    ),
)
NAMES = [check.name for check in CHECKS]


def add_parsers(commands: Any) -> None:
    """Add the command."""
    doctor = commands.add_parser("doctor", help="find what is misconfigured, and how to fix it")
    doctor.add_argument("--only", action="append", choices=NAMES, metavar="CHECK", help=f"of {', '.join(NAMES)}")
    doctor.add_argument("--no-probe", action="store_true", help="send nothing: every check but the probe")
    doctor.set_defaults(run=examine)


def examine(arguments: argparse.Namespace, place: Place) -> int:
    """Run the checks one after the other, each told as it ends."""
    exam = Examination(place)
    told: list[dict[str, Any]] = []
    for check in CHECKS:
        if arguments.only and check.name not in arguments.only:
            continue
        if arguments.no_probe and check.name == "probe":
            continue
        with working(f"{check.name}: {check.looks_at}"):
            said = list(_run(check, exam))
        told.append(_result(check, said))
        if not arguments.json:
            print(_words(check, said), flush=True)
    findings, skipped = (sum(len(each[kind]) for each in told) for kind in ("findings", "not_checked"))
    if arguments.json:
        print(as_json({"clean": not findings, "not_checked": skipped, "checks": told}))
    else:
        print(f"\n{_sum(findings, skipped)}")
    return FOUND if findings else DONE


def _sum(findings: int, skipped: int) -> str:
    wrong = f"{findings} finding{'s' * (findings != 1)}" if findings else "nothing is wrong"
    return f"{wrong}; not checked: {skipped}" if skipped else wrong


def _run(check: Check, exam: Examination) -> Iterator[Said]:
    """Run one check; what keeps it from looking is said and is no finding."""
    try:
        yield from check.run(exam)
    except (NotChecked, CommandError, BotoCoreError, ClientError) as exc:
        yield Skipped(why=str(exc))


def _result(check: Check, said: list[Said]) -> dict[str, Any]:
    return {
        "check": check.name,
        "findings": [asdict(each) for each in said if isinstance(each, Finding)],
        "not_checked": [each.why for each in said if isinstance(each, Skipped)],
        "notes": [each.text for each in said if isinstance(each, Note)],
    }


def _words(check: Check, said: list[Said]) -> str:
    lines = []
    for each in said:
        match each:
            case Finding():
                lines.append(f"WRONG  {plain(each.what)}\n{'':18}fix: {plain(each.fix)}")
            case Skipped():
                lines.append(f"-      not checked: {plain(each.why)}")
            case Note():
                lines.append(f"ok     {plain(each.text)}")
    return "\n".join(f"{check.name if not index else '':<10} {line}" for index, line in enumerate(lines or ["ok"]))
