"""Read from the deployed stack itself what a sender or a reader needs to know."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cli.local_aws import REGION, client
from cli.local_stack import Source, Stack
from local.edits import API_ID
from samples import Keys


@dataclass(frozen=True, kw_only=True)
class DeployedFunction:
    """One step's function as the emulator has it."""

    name: str
    log_group: str
    environment: Mapping[str, str]


def deployed_functions(endpoint: str) -> dict[str, DeployedFunction]:
    """Return the functions by the step that each names in its environment."""
    listed: list[dict[str, Any]] = client("lambda", endpoint).list_functions()["Functions"]
    functions = {}
    for found in listed:
        environment = found.get("Environment", {}).get("Variables", {})
        if step := environment.get("POWERTOOLS_SERVICE_NAME"):
            group = found.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{found['FunctionName']}"
            functions[step] = DeployedFunction(name=found["FunctionName"], log_group=group, environment=environment)
    return functions


def source_providers(functions: Mapping[str, DeployedFunction]) -> dict[str, str]:
    """Return all sources, name -> provider."""
    sources = json.loads(functions["receive"].environment["SOURCES"])
    return {name: source["provider"] for name, source in sources.items()}


def http_sources(functions: Mapping[str, DeployedFunction]) -> dict[str, str]:
    """Return the sources that come through the door and not through a topic, name -> provider."""
    topics = json.loads(functions["process"].environment["TOPICS"])
    fed = set(topics.values())
    return {name: provider for name, provider in source_providers(functions).items() if name not in fed}


def describe(
    *,
    endpoint: str,
    dsn: str,
    outputs: Mapping[str, str],
    functions: Mapping[str, DeployedFunction],
    keys: Mapping[str, Keys],
) -> Stack:
    """Put together what `.local/stack.json` says."""
    return Stack(
        base_url=f"{endpoint}/_aws/execute-api/{API_ID}",
        dsn=dsn,
        queue_url=outputs["QueueUrl"],
        dlq_url=outputs["DeadLetterQueueUrl"],
        topic_arn=outputs.get("TopicArn"),
        secret_id=outputs["SecretArn"],
        aws_endpoint=endpoint,
        region=REGION,
        functions={step: function.name for step, function in functions.items()},
        sources={
            name: Source(
                provider=provider,
                secret=keys[name].secret if name in keys else None,
                signer=keys[name].signer if name in keys else None,
            )
            for name, provider in source_providers(functions).items()
        },
    )
