"""What the template of the deployed stack must lose or change to run on one machine: this table and nothing else."""

import json
import re
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from local.changes import ABSENT, Finder, Place, Template, apply, change, leave_out, look_up, references_to_nothing

#: The id of the HTTP API, which is part of its local address.
API_ID = "mailfold"
VISIBILITY_SECONDS = 10

_VARIABLES = ("Environment", "Variables")


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One row of the table."""

    name: str
    what: str
    why: str
    changes: Finder


def _same_role_here(url: Any, place: Place) -> str:
    found = re.match(r"postgresql://(\w+)@", url["Fn::Join"][1][0])
    assert found, "the template's DATABASE_URL begins with its role"
    return place.database_url(found[1])


def _every_provider(encoded: str, place: Place) -> str:
    sources: dict[str, Any] = json.loads(encoded)
    configured = {source["provider"] for source in sources.values()}
    added = {name: {"provider": name, **options} for name, options in place.samples.items() if name not in configured}
    return json.dumps({**added, **sources})


EDITS = (
    Edit(
        name="network",
        what="`AWS::EC2::*` is left out",
        why="the emulator knows only a part of it, and one machine has no subnets to keep apart",
        changes=leave_out("AWS::EC2::*"),
    ),
    Edit(
        name="no VPC",
        what="`VpcConfig` of the functions is left out",
        why="it names that network",
        changes=change("AWS::Lambda::Function", "VpcConfig", to=lambda *_: None, where=lambda it: "VpcConfig" in it),
    ),
    Edit(
        name="database",
        what="`AWS::RDS::*` is left out",
        why="a real Postgres runs beside the emulator, which has none without Docker",
        changes=leave_out("AWS::RDS::*"),
    ),
    Edit(
        name="database address",
        what="`DATABASE_URL` names that Postgres, with the same role and database",
        why="RDS, its certificate and its IAM tokens are not here",
        changes=change(
            "AWS::Lambda::Function",
            *_VARIABLES,
            "DATABASE_URL",
            to=_same_role_here,
            where=lambda it: "DATABASE_URL" in look_up(it, _VARIABLES),
        ),
    ),
    Edit(
        name="migrate trigger",
        what="`Custom::Trigger` is left out; the runner invokes migrate once after the deploy instead",
        why="its provider is a Node.js function, and no Node.js need be installed",
        changes=leave_out("Custom::Trigger"),
    ),
    Edit(
        name="third-party layer",
        what="the layer of third-party packages holds wheels for this machine and its Python",
        why="the deployed one holds wheels for Lambda's processor and Python",
        changes=change(
            "AWS::Lambda::LayerVersion",
            "Content",
            "S3Key",
            to=lambda _, place: place.dependencies_key,
            where=lambda it: str(it.get("Description")).startswith("Third-party"),
        ),
    ),
    Edit(
        name="visibility",
        what=f"`VisibilityTimeout` of the queue is {VISIBILITY_SECONDS} seconds",
        why="records of a function that was killed come back while one watches, not after a minute and a half",
        changes=change(
            "AWS::SQS::Queue",
            "VisibilityTimeout",
            to=lambda *_: VISIBILITY_SECONDS,
            where=lambda it: "RedrivePolicy" in it,
        ),
    ),
    Edit(
        name="API id",
        what=f"the HTTP API has the tag `ms-custom-id: {API_ID}`",
        why="by this tag the emulator gives it a fixed id, so that the address of the webhooks stays the same",
        changes=change("AWS::ApiGatewayV2::Api", "Tags", to=lambda old, _: {**old, "ms-custom-id": API_ID}),
    ),
    Edit(
        name="sources",
        what="`SOURCES` also names a source for each provider that cdk.json has none of",
        why="the demo and the tests speak as every provider",
        changes=change(
            "AWS::Lambda::Function",
            *_VARIABLES,
            "SOURCES",
            to=_every_provider,
            where=lambda it: "SOURCES" in look_up(it, _VARIABLES),
        ),
    ),
    Edit(
        name="references",
        what=f"references to what was left out read `{ABSENT}`, and `DependsOn` does not name it",
        why="the emulator refuses a template that refers to nothing",
        changes=references_to_nothing,
    ),
)


def edited(template: Template, place: Place) -> Template:
    """Return the template with every row of the table applied, in order."""
    result = deepcopy(template)
    for edit in EDITS:
        # Backwards, so that taking an item out of a list does not move the ones that are still to be changed.
        for found in reversed(list(edit.changes(result, place))):
            apply(result, found)
    return result
