"""One look at a stack: what its template wants, what is really there, and what a check may say about it."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from cli.place import Place

#: How the services say that a thing is not there.
GONE = {
    "AWS.SimpleQueueService.NonExistentQueue",
    "NotFound",
    "NotFoundException",
    "QueueDoesNotExist",
    "ResourceNotFoundException",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something is wrong."""

    what: str
    #: What to do about it: a sentence or a command.
    fix: str


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """Something could not be looked at; that is not wrong."""

    why: str


@dataclass(frozen=True, kw_only=True)
class Note:
    """Something that is good to know."""

    text: str


Said = Finding | Skipped | Note


class NotChecked(Exception):
    """A check cannot go on; the sentence says why."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One row of doctor's table."""

    name: str
    #: What it looks at, in a few words.
    looks_at: str
    run: Callable[["Examination"], Iterator[Said]]


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One resource of the stack: what the template wants, and what it is called."""

    kind: str
    #: Its name, URL or ARN, whatever CloudFormation calls it by.
    name: str
    wanted: Mapping[str, Any] = field(default_factory=dict)


def _variables(function: Mapping[str, Any]) -> Mapping[str, Any]:
    variables: Mapping[str, Any] = function.get("Environment", {}).get("Variables", {})
    return variables


class Examination:
    """Looks things up once, for whichever check asks first."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def ask(self, service: str, operation: str, **parameters: Any) -> dict[str, Any] | None:
        """Call AWS; None where the thing is not there, NotChecked where it cannot be told."""
        try:
            answer: dict[str, Any] = getattr(self.place.aws(service), operation)(**parameters)
        except ClientError as exc:
            code = exc.response["Error"]["Code"]
            if code in GONE:
                return None
            raise NotChecked(f"{service} {operation.replace('_', '-')} answered {code}") from exc
        except BotoCoreError as exc:
            raise NotChecked(f"{service} cannot be reached: {exc}") from exc
        return answer

    @cached_property
    def resources(self) -> dict[str, Resource]:
        """Every resource of the stack, by its name in the template."""
        template = (self.ask("cloudformation", "get_template", StackName=self.place.stack) or {})["TemplateBody"]
        wanted = (json.loads(template) if isinstance(template, str) else template)["Resources"]
        found: dict[str, Resource] = {}
        page: dict[str, Any] = {}
        while True:
            again = {"NextToken": page["NextToken"]} if "NextToken" in page else {}
            page = self.ask("cloudformation", "list_stack_resources", StackName=self.place.stack, **again) or {}
            for each in page.get("StackResourceSummaries", []):
                logical = each["LogicalResourceId"]
                properties = wanted.get(logical, {}).get("Properties", {})
                found[logical] = Resource(
                    kind=each["ResourceType"], name=each.get("PhysicalResourceId", ""), wanted=properties
                )
            if "NextToken" not in page:
                return found

    def of_kind(self, kind: str) -> dict[str, Resource]:
        """Return the resources of one type."""
        return {name: each for name, each in self.resources.items() if each.kind == kind}

    @cached_property
    def steps(self) -> dict[str, Resource]:
        """The functions that the template wants, by their steps."""
        wanted = self.of_kind("AWS::Lambda::Function").values()
        named = {_variables(each.wanted).get("POWERTOOLS_SERVICE_NAME"): each for each in wanted}
        return {str(step): each for step, each in named.items() if step}

    @cached_property
    def functions(self) -> dict[str, dict[str, Any]]:
        """The configuration of each step's function, as far as it is there."""
        asked = {
            step: self.ask("lambda", "get_function_configuration", FunctionName=each.name)
            for step, each in self.steps.items()
        }
        return {step: found for step, found in asked.items() if found}

    def wanted_environment(self, step: str) -> Mapping[str, Any]:
        """Return the environment variables that the template wants for a step, references and all."""
        return _variables(self.steps[step].wanted)

    def environment(self, step: str) -> Mapping[str, Any]:
        """Return the environment variables of a step."""
        if step not in self.functions:
            raise NotChecked(f"there is no function {step}")
        return _variables(self.functions[step])

    @cached_property
    def sources(self) -> dict[str, dict[str, Any]]:
        """The configured sources, as the door knows them."""
        sources: dict[str, dict[str, Any]] = json.loads(self.environment("receive")["SOURCES"])
        return sources

    def queue(self, url: str) -> dict[str, Any] | None:
        """Return the attributes of a queue."""
        answer = self.ask("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=["All"])
        return None if answer is None else answer["Attributes"]

    @cached_property
    def main_queue(self) -> dict[str, Any]:
        """The attributes of the queue between the door and the database."""
        found = self.queue(self.place.output("QueueUrl"))
        if found is None:
            raise NotChecked("the queue is not there")
        return found

    @cached_property
    def store(self) -> dict[str, Any]:
        """What operate tells of the database."""
        return self.place.order("doctor.store")
