"""Who may ask: whoever holds a token whose digest is stored, with the scope that the route needs."""

import hmac
from datetime import datetime, timedelta

from mailfold.errors import OutOfScope, TooOften, TransientStoreError, Unauthenticated
from mailfold.steps.query.keeper import Keeper, Token
from mailfold.steps.query.question import Question
from mailfold.store.connection import Transaction
from mailfold.tokens import allowed, is_token, token_hash

#: How exact the last use is known; each note of it is a write.
USE_NOTED_EVERY = timedelta(hours=1)


def known_digest(question: Question, keeper: Keeper) -> str:
    """Return the digest of the token of a request, or refuse it before the database is asked for an answer.

    Only wrong tokens are slowed down: a good one is admitted, however many wrong ones came from the same address.
    """
    given = question.headers.get("authorization")
    if not given:
        raise Unauthenticated
    scheme, _, token = given.partition(" ")
    if scheme.lower() == "bearer" and is_token(token.strip()):
        digest = token_hash(token.strip())
        if _is_good(digest, question, keeper):
            return digest
    raise _wrong(question, keeper)


def admit(tx: Transaction, digest: str, question: Question, keeper: Keeper) -> Token:
    """Return the token of a digest, if it is still good."""
    token = _find(tx, digest, question)
    if token is None:
        keeper.digests.refuse(digest)
        raise _wrong(question, keeper)
    wait_s = keeper.asked.wait_s(token.name)
    if wait_s:
        raise TooOften(wait_s)
    keeper.asked.take(token.name)
    return token


def check_scopes(token: Token, needed: list[str]) -> None:
    """Refuse what the token may not do, and say which scope is missing."""
    missing = [scope for scope in needed if scope not in allowed(token.scopes)]
    if missing:
        raise OutOfScope(f"this token lacks the scope {missing[0]}")
    if "operate" in needed and token.sources is not None:
        raise OutOfScope(
            "this token is bound to sources: a change is for all sources and needs a token without --source"
        )


def check_source(token: Token, source: str | None) -> None:
    """Refuse a source that the token is not bound to, whether or not it exists."""
    if source is not None and token.sources is not None and source not in token.sources:
        raise OutOfScope(f"this token is bound to the sources {', '.join(token.sources)}")


def is_use_noted(token: Token, now: datetime) -> bool:
    """Tell whether the last use that is stored is recent enough."""
    return token.last_used_at is not None and now - token.last_used_at < USE_NOTED_EVERY


def _is_good(digest: str, question: Question, keeper: Keeper) -> bool:
    digests = keeper.digests
    if digests.is_bad(digest):
        return False
    if digest in digests.good:
        return True
    wait_s = digests.begin_look()
    if wait_s and not digests.is_known:
        raise TransientStoreError("which tokens are good is not known")
    if wait_s:
        # It may have been made since the last look: too early to call it wrong.
        raise TooOften(wait_s)
    database = keeper.office.database
    before = database.connects
    with database.transaction(read_only=True) as tx:
        digests.learn(found for [found] in tx.run("token_digests", {"now": question.asked_at.isoformat()}))
    if digest in digests.good:
        return True
    digests.refuse(digest)
    if database.connects != before:
        # An idle environment holds no connection because of a wrong token.
        database.close()
    return False


def _wrong(question: Question, keeper: Keeper) -> Unauthenticated | TooOften:
    wait_s = keeper.failed.wait_s(question.source_ip)
    if wait_s:
        return TooOften(wait_s)
    keeper.failed.take(question.source_ip)
    return Unauthenticated()


def _find(tx: Transaction, digest: str, question: Question) -> Token | None:
    rows = tx.run("token_find", {"token_hash": digest})
    if not rows:
        return None
    [[name, found, scopes, sources, expires_at, revoked_at, last_used_at]] = rows
    # The index has compared already, and tells by its time how much of a digest is right: of no use to anyone.
    is_same = hmac.compare_digest(digest, found)
    if not is_same or revoked_at is not None or (expires_at is not None and expires_at <= question.asked_at):
        return None
    return Token(
        name=name,
        scopes=frozenset(scopes),
        sources=None if sources is None else tuple(sources),
        last_used_at=last_used_at,
    )
