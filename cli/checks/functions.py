"""The functions: all there, told the same things, and called when they should be."""

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

from cli.checks.examination import Examination, Finding, NotChecked, Note, Said
from mailfold.errors import SettingsError
from mailfold.providers import REGISTRY
from mailfold.request import Source
from mailfold.retention import check_retention

OWNER = "mailfold_owner"


def check_functions(exam: Examination) -> Iterator[Said]:
    """Look at each step's function and at its environment."""
    for step in exam.steps:
        found = exam.functions.get(step)
        if found is None:
            yield Finding(what=f"the function of {step} is not there", fix="make deploy")
        elif "Failed" in (found.get("State"), found.get("LastUpdateStatus")):
            why = found.get("StateReason") or found.get("LastUpdateStatusReason") or "it does not say why"
            yield Finding(what=f"the function of {step} cannot run: {why}", fix="make deploy")
    yield from _told_otherwise(exam)
    yield from _addresses(exam)
    yield from _settings(exam)


def _told_otherwise(exam: Examination) -> Iterator[Said]:
    """Hold the environments against the template, which tells every function the same."""
    for step in exam.functions:
        told = exam.environment(step)
        for name, wanted in exam.wanted_environment(step).items():
            # What is no text refers to another resource; the addresses are looked at below.
            if isinstance(wanted, str) and told.get(name) != wanted:
                yield Finding(what=f"{step} is told another {name} than the template says", fix=_put_back(exam, step))
    for step in exam.functions.keys() & {"process", "operate"}:
        if _topics(exam, step) != {exam.place.outputs.get("TopicArn", "")} - {""}:
            yield Finding(what=f"{step} is told another topic than the stack's", fix=_put_back(exam, step))


def _topics(exam: Examination, step: str) -> set[str]:
    try:
        return set(json.loads(exam.environment(step)["TOPICS"]))
    except (KeyError, TypeError, ValueError):
        return set()


def _put_back(exam: Examination, step: str) -> str:
    name = exam.functions[step]["FunctionName"]
    return f"put it back in the environment: aws lambda update-function-configuration --function-name {name}"


def _addresses(exam: Examination) -> Iterator[Said]:
    """Look where the functions send, read and log in."""
    if "receive" in exam.functions:
        for name, output in (("QUEUE_URL", "QueueUrl"), ("SECRET_ID", "SecretArn")):
            if exam.environment("receive").get(name) != exam.place.output(output):
                yield Finding(what=f"receive is told another {name} than the stack's", fix=_put_back(exam, "receive"))
    urls = {
        step: urlsplit(exam.environment(step).get("DATABASE_URL", "")) for step in exam.functions if step != "receive"
    }
    hosts = [f"{url.hostname}:{url.port}{url.path}" for url in urls.values()]
    usual = max(set(hosts), key=hosts.count, default="")
    for step, url in urls.items():
        role = OWNER if step == "migrate" else f"mailfold_{step}"
        if url.username != role:
            yield Finding(what=f"{step} logs in as {url.username}, not as {role}", fix=_put_back(exam, step))
        if f"{url.hostname}:{url.port}{url.path}" != usual:
            yield Finding(what=f"{step} is told another database than the others", fix=_put_back(exam, step))


def _settings(exam: Examination) -> Iterator[Said]:
    """Look at settings that would keep a function from starting."""
    try:
        if "prune" in exam.functions:
            check_retention(json.loads(exam.environment("prune")["RETENTION"]))
    except (KeyError, ValueError, SettingsError) as exc:
        yield Finding(what=f"prune cannot start: {exc}", fix=_put_back(exam, "prune"))
    for name, options in exam.sources.items():
        try:
            provider = REGISTRY[options["provider"]]
            if provider.check:
                provider.check(Source(name=name, provider=options["provider"], options=options))
        except (KeyError, SettingsError) as exc:
            yield Finding(what=f"the source {name} cannot work: {exc}", fix="correct it in cdk.json, then make deploy")
    yield Note(text=f"{len(exam.functions)} functions, {len(exam.sources)} sources")


def check_schedules(exam: Examination) -> Iterator[Said]:
    """Look whether the clock still calls, and who hears of runs that fail."""
    schedules = exam.of_kind("AWS::Scheduler::Schedule")
    if not schedules:
        raise NotChecked("the stack has no schedules")
    for logical, each in schedules.items():
        step = logical.partition("Schedule")[0].lower()
        found = exam.ask("scheduler", "get_schedule", Name=each.name)
        if found is None:
            yield Finding(
                what=f"nothing calls {step}: its schedule is not there",
                fix="aws scheduler create-schedule as in the template; until then bin/mailfold calls it manually",
            )
            continue
        if found.get("State") != "ENABLED":
            yield Finding(
                what=f"nothing calls {step}: its schedule is disabled",
                fix=f"enable it, its other settings as they are: aws scheduler update-schedule --name {each.name}",
            )
        function = exam.functions.get(step, {})
        if function and found["Target"]["Arn"] != function["FunctionArn"]:
            yield Finding(what=f"the schedule of {step} calls another function", fix="make deploy")
        yield from _told(exam, step, found["Target"].get("DeadLetterConfig", {}).get("Arn"))


def _told(exam: Examination, step: str, dead_letters: str | None) -> Iterator[Said]:
    """Look where a call that was not taken, and a run that failed, are told."""
    if dead_letters is None:
        fix = f"add its DeadLetterConfig to the schedule of {step}: aws scheduler update-schedule"
        yield Finding(what=f"nobody hears when {step} cannot be called: its schedule has no dead-letter queue", fix=fix)
    if step not in exam.functions:
        return
    name = exam.functions[step]["FunctionName"]
    found = exam.ask("lambda", "get_function_event_invoke_config", FunctionName=name, Qualifier="$LATEST") or {}
    if not found.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination"):
        yield Finding(
            what=f"nobody hears when a run of {step} fails: it has no destination for failures",
            fix=f"aws lambda put-function-event-invoke-config --function-name {name} --destination-config "
            f"OnFailure={{Destination={dead_letters or 'its dead-letter queue'}}}",
        )
