"""query: answers what happened to a mail, whether an address may be mailed and whether events flow."""

import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath

from mailfold.errors import (
    BadQuestion,
    DataRejected,
    Declined,
    MailfoldError,
    NothingFound,
    Outdated,
    OutOfScope,
    QuestionTooLarge,
    TooOften,
    TransientStoreError,
    Unauthenticated,
    WrongMethod,
)
from mailfold.steps.query import console, letters, tokens
from mailfold.steps.query.answer import Answer, refusal
from mailfold.steps.query.keeper import Asked, Keeper, Token
from mailfold.steps.query.question import Question
from mailfold.steps.query.route import Route
from mailfold.steps.query.routes import find, place_of
from mailfold.steps.query.sizes import fitted

#: Every reason for not answering, and its status.
STATUS: dict[type[MailfoldError], int] = {
    BadQuestion: 400,
    # Postgres refuses a value that our own reading let through.
    DataRejected: 400,
    Unauthenticated: 401,
    OutOfScope: 403,
    NothingFound: 404,
    WrongMethod: 405,
    Outdated: 409,
    Declined: 409,
    QuestionTooLarge: 413,
    TooOften: 429,
    TransientStoreError: 503,
}


def query(question: Question, keeper: Keeper, *, remaining_ms: Callable[[], int]) -> Answer:
    """Answer one question; whatever happens, neither the answer's log line nor its metric names an address."""
    keeper = replace(
        keeper, office=replace(keeper.office, now=question.asked_at, by="nobody", remaining_ms=remaining_ms)
    )
    telemetry = keeper.office.telemetry
    try:
        answer = fitted(_answered(question, keeper))
    except MailfoldError as reason:
        answer = _refused(reason)
    # Anything else may quote what was asked, and Lambda would log it whole.
    except Exception as mistake:
        telemetry.warn("failed", reason=type(mistake).__name__, where=_where(mistake))
        answer = refusal(500, "this is a mistake of ours; it is counted and logged")
    kind = "QueriesFailed" if answer.status >= 500 else "QueriesRefused" if answer.status >= 400 else "QueriesAnswered"
    telemetry.count(kind)
    # The path as the table has it: what stands in its place may be an address.
    telemetry.say("asked", route=place_of(question), status=answer.status, by=answer.by)
    return answer


def _answered(question: Question, keeper: Keeper) -> Answer:
    if question.path == "/console" or question.path.startswith("/console/"):
        return _shown(question)
    try:
        route, in_path = find(question)
    except (NothingFound, WrongMethod):
        if question.path != "/healthz":
            # Whoever is not known learns nothing of what is here.
            _admitted(question, keeper)
        raise
    if route.scope is None:
        return keeper.health.tell(keeper.office.database)
    if route.answer is None:
        token = _admitted(question, keeper, route.scope)
        office = replace(keeper.office, by=f"token:{token.name}")
        return replace(letters.redrive(office, route.read(question, in_path)), by=token.name)
    return _asked(question, keeper, route, in_path)


def _asked(question: Question, keeper: Keeper, route: Route, in_path: dict[str, str]) -> Answer:
    assert route.answer
    digest = tokens.known_digest(question, keeper)
    database = keeper.office.database
    with database.transaction(read_only=route.reads) as tx:
        token = tokens.admit(tx, digest, question, keeper)
        tokens.check_scopes(token, route.scopes({}))
        values = route.read(question, in_path)
        tokens.check_scopes(token, route.scopes(values))
        tokens.check_source(token, values.get("source"))
        office = replace(keeper.office, by=f"token:{token.name}")
        if route.replans:
            tx.execute("set local plan_cache_mode = force_custom_plan")
        answer = route.answer(Asked(office=office, tx=tx, values=values, token=token))
    _note_use(token, keeper)
    return replace(answer, by=token.name)


def _admitted(question: Question, keeper: Keeper, *scopes: str) -> Token:
    digest = tokens.known_digest(question, keeper)
    with keeper.office.database.transaction(read_only=True) as tx:
        token = tokens.admit(tx, digest, question, keeper)
    tokens.check_scopes(token, list(scopes))
    _note_use(token, keeper)
    return token


def _note_use(token: Token, keeper: Keeper) -> None:
    now = keeper.office.now
    if not tokens.is_use_noted(token, now):
        with keeper.office.database.transaction() as tx:
            tx.run("token_used", {"name": token.name, "now": now.isoformat()})


def _shown(question: Question) -> Answer:
    if question.method != "GET":
        raise WrongMethod("GET")
    return console.serve(question.path, question.headers)


def _refused(reason: MailfoldError) -> Answer:
    status = STATUS.get(type(reason), 500)
    if isinstance(reason, Unauthenticated):
        return refusal(status, str(reason), www_authenticate='Bearer realm="mailfold"')
    if isinstance(reason, WrongMethod):
        return refusal(status, str(reason), allow=reason.allowed)
    if isinstance(reason, TooOften):
        return refusal(status, str(reason), retry_after=str(reason.wait_s))
    if isinstance(reason, TransientStoreError):
        return refusal(status, "the database is away or takes too long; ask again", retry_after="1")
    return refusal(status, str(reason))


def _where(mistake: Exception) -> str:
    """Return the places of a traceback without any of its values."""
    frames = traceback.extract_tb(mistake.__traceback__)[-4:]
    return " < ".join(f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
