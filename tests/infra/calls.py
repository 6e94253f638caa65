"""Read from a function's source which AWS calls it can make, so that nobody keeps a list by hand."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
from botocore import xform_name

#: API calls whose permission has another name: the service's page in the IAM service authorization reference.
PERMISSIONS = {"sqs:SendMessageBatch": "sqs:SendMessage"}

#: What a Powertools class does with AWS on the code's behalf.
POWERTOOLS = {
    "DynamoDBPersistenceLayer": frozenset(
        f"dynamodb:{call}" for call in ("GetItem", "PutItem", "UpdateItem", "DeleteItem")
    )
}
#: Powertools modules that call AWS in ways nobody has written down above.
UNREAD = ("parameters", "feature_flags", "circuit_breaker", "data_masking", "streaming", "kafka")


@dataclass(frozen=True, kw_only=True)
class Calls:
    """What a function asks of AWS."""

    #: permissions for requests that travel over the network
    sent: frozenset[str]
    #: permissions for requests that are only signed here; somebody else carries them
    signed: frozenset[str]

    @property
    def permissions(self) -> frozenset[str]:
        return self.sent | self.signed

    @property
    def services(self) -> frozenset[str]:
        return frozenset(permission.split(":")[0] for permission in self.sent)


def calls_of(handler: Path, packages: Path) -> Calls:
    """Follow a handler's imports through our own package and collect what every module in reach calls."""
    trees = [ast.parse(path.read_text(), str(path)) for path in sorted(_reachable(handler, packages))]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    called = [node for node in nodes if isinstance(node, ast.Call)]
    _refuse_unread(nodes)
    clients = {service for call in called if (service := _client(call))}
    methods = {method for tree in trees for method in _methods(tree)}
    sent = {permission for service in clients for name in methods if (permission := _permission(service, name))}
    for node in nodes:
        if isinstance(node, ast.Name):
            sent |= POWERTOOLS.get(node.id, frozenset())
    return Calls(sent=frozenset(sent), signed=frozenset(it for call in called if (it := _signed(call))))


def _reachable(handler: Path, packages: Path) -> set[Path]:
    found: set[Path] = set()
    waiting = [handler]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [file for name in _imports(ast.parse(path.read_text())) for file in _files(name, packages)]
    return found


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or not node.module:
                raise NotImplementedError(f"line {node.lineno}: a relative import")
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(module: str, packages: Path) -> Iterator[Path]:
    """Importing a module runs every package above it as well."""
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        place = packages.joinpath(*parts[:depth])
        yield from (file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file())


def _client(call: ast.Call) -> str | None:
    match call.func:
        case ast.Attribute(attr="resource" | "get_paginator" | "get_waiter"):
            raise NotImplementedError(f"line {call.lineno}: calls that do not bear the name of their permission")
        case ast.Attribute(attr="client" | "create_client") | ast.Name(id="client"):
            if call.args and isinstance(call.args[0], ast.Constant):
                return str(call.args[0].value)
            raise NotImplementedError(f"line {call.lineno}: a client of a service that only the run knows")
        case _:
            return None


def _methods(tree: ast.Module) -> Iterator[str]:
    """Name what is called on objects; a function of an imported module, like socket.create_connection, is no method."""
    modules = {name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in _bound(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner))) if owner in modules:
                continue
            case ast.Call(func=ast.Attribute(attr=method)):
                yield method


def _bound(node: ast.Import) -> list[str]:
    return [alias.asname or alias.name.split(".")[0] for alias in node.names]


def _signed(call: ast.Call) -> str | None:
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "generate_presigned_url"):
        return None
    given: dict[str | None, Any] = {word.arg: word.value for word in call.keywords}
    return f"{ast.literal_eval(given['signing_name'])}:{ast.literal_eval(given['operation_name'])}"


def _refuse_unread(nodes: list[ast.AST]) -> None:
    imported = {name for node in nodes for name in _imports(node) if name.startswith("aws_lambda_powertools")}
    unread = {name for name in imported if set(name.split(".")) & set(UNREAD)}
    if unread:
        raise NotImplementedError(f"say in POWERTOOLS what {sorted(unread)} call")


@cache
def _operations(service: str) -> dict[str, str]:
    model = botocore.session.get_session().get_service_model(service)
    return {xform_name(name): f"{model.signing_name}:{name}" for name in model.operation_names}


def _permission(service: str, method: str) -> str | None:
    call = _operations(service).get(method)
    return PERMISSIONS.get(call, call) if call else None
