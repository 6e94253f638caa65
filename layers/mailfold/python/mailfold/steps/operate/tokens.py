"""The tokens of the query API: who has one, one more, one less."""

import re
from datetime import timedelta
from typing import Any

from mailfold.errors import CommandRefused
from mailfold.jsontext import dumps
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.store.reading import read
from mailfold.tokens import SCOPES, new_token, token_hash

#: What stands in the audit log as whoever asked.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
LONGEST_DAYS = 3_650
#: Long enough to be no burden, short enough that a forgotten token ends.
USUAL_DAYS = 90
#: What a service that sends mail asks for.
USUAL_SCOPE = "check"


def list_tokens(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return who may ask; the tokens themselves are known to nobody but their holders."""
    with context.database.transaction() as tx:
        return {"tokens": read(tx, "token_list", {})}


def add_token(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Make a token and return it, this once."""
    name = _name(arguments)
    scopes = _scopes(arguments)
    sources = _sources(context, arguments, scopes)
    expires_at = _expiry(context, arguments)
    token = new_token()
    with context.database.transaction() as tx:
        added = tx.run(
            "token_add",
            {
                "name": name,
                "token_hash": token_hash(token),
                "scopes": dumps(scopes),
                "sources": dumps(sources),
                "now": context.now.isoformat(),
                "expires_at": expires_at or "",
                "replace": arguments.flag("replace"),
            },
        )
        if not added:
            raise CommandRefused(f"there is a token {name} already; revoke it first or choose another name")
        context.note(tx, "tokens.add", name=name, scopes=scopes, sources=sources, expires_at=expires_at)
    return {"name": name, "token": token, "scopes": scopes, "sources": sources, "expires_at": expires_at}


def revoke_token(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Let nobody ask with this token any more."""
    name = _name(arguments)
    with context.database.transaction() as tx:
        if not tx.run("token_revoke", {"name": name, "now": context.now.isoformat()}):
            raise CommandRefused(f"there is no token {name} that could be revoked")
        context.note(tx, "tokens.revoke", name=name)
    return {"name": name}


def _scopes(arguments: Arguments) -> list[str]:
    given = arguments.words("scope") or [USUAL_SCOPE]
    if not set(given) <= set(SCOPES):
        raise CommandRefused(f"scope must be one of {', '.join(SCOPES)}")
    return [scope for scope in SCOPES if scope in given]


def _sources(context: OperateContext, arguments: Arguments, scopes: list[str]) -> list[str] | None:
    """Return what the token is bound to; None where it may see every source."""
    given = arguments.words("source")
    if not given:
        return None
    unknown = sorted(set(given) - context.sources.keys())
    if unknown:
        raise CommandRefused(f"source must be one of {', '.join(context.sources)}, not {unknown[0]!r}")
    if "operate" in scopes:
        raise CommandRefused("a token with the scope operate cannot be bound: what it changes is for all sources")
    return sorted(set(given))


def _expiry(context: OperateContext, arguments: Arguments) -> str | None:
    days = arguments.number("days", USUAL_DAYS, most=LONGEST_DAYS)
    if not arguments.flag("no_expiry"):
        return (context.now + timedelta(days=days)).isoformat()
    if arguments.value("days") is not None:
        raise CommandRefused("days and no_expiry exclude each other: leave one of them out")
    return None


def _name(arguments: Arguments) -> str:
    name = arguments.text("name")
    if not _NAME.fullmatch(name):
        raise CommandRefused("name must be a short name such as checkout or ann.laptop, in lower case")
    return name
