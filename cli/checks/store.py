"""The database: its schema, its roles, and whether work goes on."""

import json
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from cli.checks.examination import Examination, Finding, NotChecked, Note, Said, Skipped
from cli.errors import CommandError

#: The share of the server's connections from which on a burst of functions may be refused.
BUSY = 0.8
#: publish runs every minute.
LONGEST_OUTBOX_SECONDS = 300
#: prune runs every night, and a night may be missed.
MARGIN_DAYS = 2
#: What the owner does about a role that may too much; migrate only gives.
REVOKE = {
    "excess": "as mailfold_owner: revoke {right} on {object} from {role}",
    "excess member": "as mailfold_owner: revoke {taken} from {role}",
}


def check_database(exam: Examination) -> Iterator[Said]:
    """Look whether operate can be called, and whether it reaches the database."""
    try:
        exam.place.order("sources")
        exam.store  # noqa: B018 - asked here first, so that only this check tells of a database that is away
    except CommandError as exc:
        if isinstance(exc.__cause__, ClientError) and "Denied" in exc.__cause__.response["Error"]["Code"]:
            raise NotChecked(str(exc)) from exc
        yield Finding(what=f"the database cannot be asked: {exc}", fix="read the log of operate; is the database up?")


def check_schema(exam: Examination) -> Iterator[Said]:
    """Hold the migrations and indexes against the package that is deployed."""
    found = exam.store["migrations"]
    migrate = f"aws lambda invoke --function-name {exam.place.output('MigrateFunctionName')} /dev/stdout"
    for name in found["missing"]:
        yield Finding(what=f"the migration {name} is not applied", fix=migrate)
    for name in found["edited"]:
        yield Finding(
            what=f"the migration {name} was changed after it was applied",
            fix="put the file back as it was, and make the change in a new migration",
        )
    for version in found["unknown"]:
        yield Finding(
            what=f"the database is at migration {version}, which the code does not know", fix="deploy newer code"
        )
    for index in exam.store["invalid_indexes"]:
        yield Finding(
            what=f"the index {index} is not valid", fix=f"as mailfold_owner: reindex index concurrently {index}"
        )


def check_roles(exam: Examination) -> Iterator[Said]:
    """Hold the roles against roles.sql."""
    migrate = f"aws lambda invoke --function-name {exam.place.output('MigrateFunctionName')} /dev/stdout"
    for deviation in exam.store["roles"]:
        revoke = REVOKE.get(deviation["problem"])
        yield Finding(what=_deviation(deviation), fix=revoke.format_map(deviation) if revoke else migrate)
    try:
        limits = json.loads(exam.wanted_environment("migrate").get("CONNECTION_LIMITS", "{}"))
    except (NotChecked, KeyError) as exc:
        yield Skipped(why=f"connection limits are in the template only: {exc}")
        return
    for role, limit in limits.items():
        if (found := exam.store["connection_limits"].get(role)) not in (limit, None):
            yield Finding(what=f"{role} may have {_count(found)} connections, not {limit}", fix=migrate)


def _count(limit: int) -> str:
    return "any number of" if limit < 0 else str(limit)


def _deviation(found: dict[str, Any]) -> str:
    role = found["role"]
    match found["problem"]:
        case "role":
            return f"the role {role} is not there or may not log in"
        case "right":
            column = f" ({found['column']})" if found["column"] else ""
            return f"{role} may not {found['right']}{column} on {found['object']}"
        case "excess":
            return f"{role} may {found['right']} on {found['object']}, which its step does not need"
        case "login":
            return f"{role} may log in, which no function does"
        case "member":
            return f"{role} may not take the role {found['taken']}"
        case "excess member":
            return f"{role} may take the role {found['taken']}, which its step does not need"
        case _:
            return f"{role} has no {found['name']} of {found['value']}"


def check_work(exam: Examination) -> Iterator[Said]:
    """Look whether rows come, go and are announced."""
    store = exam.store
    if store["connections"] > BUSY * store["most_connections"]:
        yield Finding(
            what=f"{store['connections']} of {store['most_connections']} connections are taken",
            fix="lower max_concurrency or take a larger database_class in cdk.json, then make deploy",
        )
    oldest, window = store["oldest_event_days"] or 0, store["retention_days"]
    if oldest > window + MARGIN_DAYS:
        yield Finding(
            what=f"prune does not keep up: an event is {oldest} days old, and the window is {window}",
            fix="read prune's log, then bin/mailfold prune",
        )
    if store["publish"] and (store["outbox_seconds"] or 0) > LONGEST_OUTBOX_SECONDS:
        yield Finding(
            what=f"publish does not keep up: a change has waited for {store['outbox_seconds']} s",
            fix="read publish's log; nothing is lost meanwhile",
        )
    quiet = sorted(source for source, last_at in store["sources"].items() if last_at is None)
    yield Note(text=f"dead letters: {store['dead_letters']}; changes to announce: {store['outbox_waiting']}")
    yield Note(text=f"without an event for a day: {', '.join(quiet) or 'none'}")
