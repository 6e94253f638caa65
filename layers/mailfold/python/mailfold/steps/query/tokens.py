"""Who may ask: whoever holds a token whose digest is stored, with the scope that the route needs."""

import hmac
from datetime import datetime, timedelta

from mailfold.errors import MissingScope, TooManyRequests, TransientStoreError, Unauthenticated
from mailfold.steps.query.context import QueryContext, Token
from mailfold.steps.query.request import HttpRequest
from mailfold.store.connection import Transaction
from mailfold.tokens import allowed, is_token, token_hash

#: How exact the last use is known; each note of it is a write.
USE_NOTED_EVERY = timedelta(hours=1)


def known_digest(request: HttpRequest, context: QueryContext) -> str:
    """Return the digest of the token of a request, or refuse it before the database is asked for an answer.

    Only wrong tokens are slowed down: a good one is admitted, however many wrong ones came from the same address.
    """
    given = request.headers.get("authorization")
    if not given:
        raise Unauthenticated
    scheme, _, token = given.partition(" ")
    if scheme.lower() == "bearer" and is_token(token.strip()):
        digest = token_hash(token.strip())
        if _is_good(digest, request, context):
            return digest
    raise _wrong(request, context)


def admit(tx: Transaction, digest: str, request: HttpRequest, context: QueryContext) -> Token:
    """Return the token of a digest, if it is still good."""
    token = _find(tx, digest, request)
    if token is None:
        context.digests.refuse(digest)
        raise _wrong(request, context)
    wait_s = context.request_rate.wait_s(token.name)
    if wait_s:
        raise TooManyRequests(wait_s)
    context.request_rate.take(token.name)
    return token


def check_scopes(token: Token, needed: list[str]) -> None:
    """Refuse what the token may not do, and say which scope is missing."""
    missing = [scope for scope in needed if scope not in allowed(token.scopes)]
    if missing:
        raise MissingScope(f"this token lacks the scope {missing[0]}")
    if "operate" in needed and token.sources is not None:
        raise MissingScope(
            "this token is bound to sources: a change is for all sources and needs a token without --source"
        )


def check_source(token: Token, source: str | None) -> None:
    """Refuse a source that the token is not bound to, whether or not it exists."""
    if source is not None and token.sources is not None and source not in token.sources:
        raise MissingScope(f"this token is bound to the sources {', '.join(token.sources)}")


def is_use_noted(token: Token, now: datetime) -> bool:
    """Tell whether the last use that is stored is recent enough."""
    return token.last_used_at is not None and now - token.last_used_at < USE_NOTED_EVERY


def _is_good(digest: str, request: HttpRequest, context: QueryContext) -> bool:
    digests = context.digests
    if digests.is_bad(digest):
        return False
    if digest in digests.good:
        return True
    wait_s = digests.begin_look()
    if wait_s and not digests.is_known:
        raise TransientStoreError("which tokens are good is not known")
    if wait_s:
        # It may have been made since the last look: too early to call it wrong.
        raise TooManyRequests(wait_s)
    database = context.operate.database
    before = database.connects
    with database.transaction(read_only=True) as tx:
        digests.learn(found for [found] in tx.run("token_digests", {"now": request.received_at.isoformat()}))
    if digest in digests.good:
        return True
    digests.refuse(digest)
    if database.connects != before:
        # An idle environment holds no connection because of a wrong token.
        database.close()
    return False


def _wrong(request: HttpRequest, context: QueryContext) -> Unauthenticated | TooManyRequests:
    wait_s = context.wrong_token_rate.wait_s(request.source_ip)
    if wait_s:
        return TooManyRequests(wait_s)
    context.wrong_token_rate.take(request.source_ip)
    return Unauthenticated()


def _find(tx: Transaction, digest: str, request: HttpRequest) -> Token | None:
    rows = tx.run("token_find", {"token_hash": digest})
    if not rows:
        return None
    [[name, found, scopes, sources, expires_at, revoked_at, last_used_at]] = rows
    # The index has compared already, and tells by its time how much of a digest is right: of no use to anyone.
    is_same = hmac.compare_digest(digest, found)
    if not is_same or revoked_at is not None or (expires_at is not None and expires_at <= request.received_at):
        return None
    return Token(
        name=name,
        scopes=frozenset(scopes),
        sources=None if sources is None else tuple(sources),
        last_used_at=last_used_at,
    )
