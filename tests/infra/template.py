"""Synthesise the stack and look things up in its template by what they are, never by a generated id."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from aws_cdk import App, Validations
from aws_cdk.assertions import Template
from cdk_nag import AwsSolutionsChecks

from infra.settings import Settings
from infra.stack import MailfoldStack

ROOT = Path(__file__).parents[2]
STEPS = ("receive", "process", "prune", "sweep", "watch", "operate", "query", "migrate")
IN_THE_NETWORK = ("process", "prune", "sweep", "watch", "operate", "query", "migrate")

Resource = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Synthesised:
    """One cloud assembly."""

    folder: Path

    @cached_property
    def template(self) -> dict[str, Any]:
        return json.loads((self.folder / "Mailfold.template.json").read_text())

    @cached_property
    def matcher(self) -> Template:
        return Template.from_json(self.template)

    @property
    def resources(self) -> dict[str, Resource]:
        return self.template["Resources"]

    def all(self, kind: str) -> dict[str, Resource]:
        return {name: it.get("Properties", {}) for name, it in self.resources.items() if it["Type"] == kind}

    def only(self, kind: str) -> tuple[str, Resource]:
        (found,) = self.all(kind).items()
        return found

    def function(self, step: str) -> tuple[str, Resource]:
        """Return a step's function, with its logical id."""
        for name, function in self.all("AWS::Lambda::Function").items():
            if _variables(function).get("POWERTOOLS_SERVICE_NAME") == step:
                return name, function
        raise LookupError(step)

    def environment(self, step: str) -> dict[str, Any]:
        return dict(_variables(self.function(step)[1]))

    def role(self, step: str) -> str:
        return self.function(step)[1]["Role"]["Fn::GetAtt"][0]

    def statements(self, role: str) -> list[Resource]:
        """Return every statement that is attached to a role, inline or by a policy; managed policies are refused."""
        properties = self.resources[role]["Properties"]
        assert "ManagedPolicyArns" not in properties, f"{role} has a managed policy"
        documents = [policy["PolicyDocument"] for policy in properties.get("Policies", [])]
        attached = [it for it in self.all("AWS::IAM::Policy").values() if {"Ref": role} in it["Roles"]]
        documents += [policy["PolicyDocument"] for policy in attached]
        return [statement for document in documents for statement in document["Statement"]]

    def asset(self, content: Resource) -> Path:
        """Return the staged folder of a function's code or a layer's content."""
        return self.folder / f"asset.{content['S3Key'].removesuffix('.zip')}"


def _variables(function: Resource) -> dict[str, Any]:
    return function.get("Environment", {}).get("Variables", {})


def synthesise(folder: Path, settings: Settings | None = None, *, checked: bool = False) -> Synthesised:
    """Write the assembly of a stack with these settings.

    `checked` runs the built-in rules and cdk-nag over it, and copies the assets, which most tests have no use for.
    """
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = App(
        context=context | {"aws:cdk:disable-asset-staging": not checked},
        outdir=str(folder),
        analytics_reporting=False,
        tree_metadata=False,
        builtin_cloud_formation_validation=checked,
    )
    if checked:
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    MailfoldStack(app, "Mailfold", settings=settings or Settings())
    app.synth()
    return Synthesised(folder=folder)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def rendered(value: Any) -> str:
    """Write a template value as text, with a stand-in for whatever only a deploy can know."""
    match value:
        case str():
            return value
        case {"Fn::Join": [separator, parts]}:
            return separator.join(rendered(part) for part in parts)
        case {"Fn::GetAtt": [_, "Endpoint.Port"]}:
            return "5432"
        case _:
            return "stand-in"
