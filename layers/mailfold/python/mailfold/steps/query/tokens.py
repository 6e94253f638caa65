"""Who may ask: whoever holds a token whose digest is stored, with the scope that the route needs."""

import hmac
from datetime import datetime, timedelta

from mailfold.errors import OutOfScope, TooOften, Unauthenticated
from mailfold.steps.query.keeper import Keeper, Token
from mailfold.steps.query.question import Question
from mailfold.store.connection import Transaction
from mailfold.tokens import is_token, token_hash

#: How exact the last use is known; each note of it is a write.
USE_NOTED_EVERY = timedelta(hours=1)


def check_pace(question: Question, keeper: Keeper) -> None:
    """Put off whoever has sent too many wrong tokens, before the database is asked once more."""
    wait_s = keeper.failed.wait_s(question.source_ip)
    if wait_s:
        raise TooOften(wait_s)


def admit(tx: Transaction, question: Question, keeper: Keeper, scope: str) -> Token:
    """Return whoever asks, if the token is good for this scope."""
    try:
        token = _find(tx, question)
    except Unauthenticated:
        keeper.failed.take(question.source_ip)
        raise
    wait_s = keeper.asked.wait_s(token.name)
    if wait_s:
        raise TooOften(wait_s)
    keeper.asked.take(token.name)
    if scope not in token.scopes:
        raise OutOfScope(f"this token lacks the scope {scope}")
    return token


def is_use_noted(token: Token, now: datetime) -> bool:
    """Tell whether the last use that is stored is recent enough."""
    return token.last_used_at is not None and now - token.last_used_at < USE_NOTED_EVERY


def _find(tx: Transaction, question: Question) -> Token:
    scheme, _, given = question.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not is_token(given.strip()):
        raise Unauthenticated
    wanted = token_hash(given.strip())
    rows = tx.run("token_find", {"token_hash": wanted})
    if not rows:
        raise Unauthenticated
    [[name, found, scopes, expires_at, revoked_at, last_used_at]] = rows
    # The index has compared already, and tells by its time how much of a digest is right: of use to nobody.
    is_same = hmac.compare_digest(wanted, found)
    if not is_same or revoked_at is not None or (expires_at is not None and expires_at <= question.asked_at):
        raise Unauthenticated
    return Token(name=name, scopes=frozenset(scopes), last_used_at=last_used_at)
