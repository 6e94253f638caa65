"""mailfold tokens: who may ask the query API."""

import argparse
from typing import Any

from cli.errors import DONE
from cli.place import Place
from cli.show import as_json, table
from mailfold.tokens import SCOPES

COLUMNS = {
    "name": "name",
    "scopes": "scopes",
    "sources": "sources",
    "made": "created_at",
    "expires": "expires_at",
    "revoked": "revoked_at",
    "last used": "last_used_at",
}


def add_parsers(commands: Any) -> None:
    """Add the command."""
    tokens = commands.add_parser("tokens", help="who may ask the query API; add or revoke a token")
    tokens.set_defaults(run=show_tokens)
    actions = tokens.add_subparsers(dest="action", metavar="ACTION")
    add = actions.add_parser("add", help="make a token and print it, this once")
    add.add_argument("name", metavar="NAME", help="whose it is; what it changes is noted under this name")
    add.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="what it may do, again for more: check (the usual one) asks whether addresses are stopped; read includes "
        "check; raw includes read and shows raw payloads; operate includes read and changes things",
    )
    add.add_argument(
        "--source", action="append", metavar="SOURCE", help="what it may see, again for more; usually every source"
    )
    expiry = add.add_mutually_exclusive_group()
    expiry.add_argument("--days", type=int, help="how long it is good for, 90 unless told")
    expiry.add_argument("--no-expiry", action="store_true", help="good until it is revoked")
    add.add_argument("--replace", action="store_true", help="end a token of the same name")
    add.set_defaults(run=add_token)
    revoke = actions.add_parser("revoke", help="end a token at once")
    revoke.add_argument("name", metavar="NAME")
    revoke.set_defaults(run=revoke_token)


def show_tokens(arguments: argparse.Namespace, place: Place) -> int:
    """Show who may ask."""
    found = place.order("tokens.list")
    print(as_json(found) if arguments.json else table([_row(token) for token in found["tokens"]], COLUMNS))
    return DONE


def _row(token: dict[str, Any]) -> dict[str, Any]:
    sources = "all" if token["sources"] is None else ", ".join(token["sources"])
    expires = token["expires_at"] or "never"
    return {**token, "scopes": ", ".join(token["scopes"]), "sources": sources, "expires_at": expires}


def add_token(arguments: argparse.Namespace, place: Place) -> int:
    """Print the new token and nothing else, so that it can be piped to where it is kept."""
    made = place.order(
        "tokens.add",
        name=arguments.name,
        scope=arguments.scope,
        source=arguments.source,
        days=arguments.days,
        no_expiry=arguments.no_expiry or None,
        replace=arguments.replace or None,
    )
    print(as_json(made) if arguments.json else made["token"])
    return DONE


def revoke_token(arguments: argparse.Namespace, place: Place) -> int:
    """End a token."""
    ended = place.order("tokens.revoke", name=arguments.name)
    print(as_json(ended) if arguments.json else f"{ended['name']} is revoked")
    return DONE
