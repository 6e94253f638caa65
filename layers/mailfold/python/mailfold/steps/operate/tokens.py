"""The tokens of the query API: who has one, one more, one less."""

import re
from datetime import timedelta
from typing import Any

from mailfold.errors import Declined
from mailfold.jsontext import dumps
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.office import Office
from mailfold.store.reading import read
from mailfold.tokens import SCOPES, new_token, token_hash

#: What stands in the audit log as whoever asked.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
LONGEST_DAYS = 3_650


def list_tokens(office: Office, arguments: Arguments) -> dict[str, Any]:
    """Return who may ask; the tokens themselves are known to nobody but their holders."""
    with office.database.transaction() as tx:
        return {"tokens": read(tx, "token_list", {})}


def add_token(office: Office, arguments: Arguments) -> dict[str, Any]:
    """Make a token and return it, this once."""
    name = _name(arguments)
    scope = arguments.text("scope", "read")
    if scope not in SCOPES:
        raise Declined(f"scope must be one of {', '.join(SCOPES)}")
    # Whoever may change something may look at it.
    scopes = list(SCOPES[: SCOPES.index(scope) + 1])
    days = arguments.number("days", 0, least=0, most=LONGEST_DAYS)
    expires_at = (office.now + timedelta(days=days)).isoformat() if days else ""
    token = new_token()
    with office.database.transaction() as tx:
        added = tx.run(
            "token_add",
            {
                "name": name,
                "token_hash": token_hash(token),
                "scopes": dumps(scopes),
                "now": office.now.isoformat(),
                "expires_at": expires_at,
                "replace": arguments.flag("replace"),
            },
        )
        if not added:
            raise Declined(f"there is a token {name} already; revoke it first or choose another name")
        office.note(tx, "tokens.add", name=name, scopes=scopes, expires_at=expires_at or None)
    return {"name": name, "token": token, "scopes": scopes, "expires_at": expires_at or None}


def revoke_token(office: Office, arguments: Arguments) -> dict[str, Any]:
    """Let nobody ask with this token any more."""
    name = _name(arguments)
    with office.database.transaction() as tx:
        if not tx.run("token_revoke", {"name": name, "now": office.now.isoformat()}):
            raise Declined(f"there is no token {name} that could be revoked")
        office.note(tx, "tokens.revoke", name=name)
    return {"name": name}


def _name(arguments: Arguments) -> str:
    name = arguments.text("name")
    if not _NAME.fullmatch(name):
        raise Declined("name must be a short name such as checkout or ann.laptop, in lower case")
    return name
