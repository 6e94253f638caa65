"""query: answers what happened to a mail, whether an address may be mailed and whether events flow."""

import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath

from mailfold.errors import (
    BadRequest,
    CommandRefused,
    DataRejected,
    MailfoldError,
    MissingScope,
    NotFound,
    Outdated,
    RequestTooLarge,
    TooManyRequests,
    TransientStoreError,
    Unauthenticated,
    WrongMethod,
)
from mailfold.steps.query import console, dead_letters, tokens
from mailfold.steps.query.context import Call, QueryContext, Token
from mailfold.steps.query.request import HttpRequest
from mailfold.steps.query.response import Response, refusal
from mailfold.steps.query.route import Route
from mailfold.steps.query.routes import find, place_of
from mailfold.steps.query.sizes import fitted

#: Every reason for not answering, and its status.
STATUS: dict[type[MailfoldError], int] = {
    BadRequest: 400,
    # Postgres refuses a value that our own reading let through.
    DataRejected: 400,
    Unauthenticated: 401,
    MissingScope: 403,
    NotFound: 404,
    WrongMethod: 405,
    Outdated: 409,
    CommandRefused: 409,
    RequestTooLarge: 413,
    TooManyRequests: 429,
    TransientStoreError: 503,
}


def query(request: HttpRequest, context: QueryContext, *, remaining_ms: Callable[[], int]) -> Response:
    """Answer one question; whatever happens, neither the answer's log line nor its metric names an address."""
    context = replace(
        context, operate=replace(context.operate, now=request.received_at, by="nobody", remaining_ms=remaining_ms)
    )
    telemetry = context.operate.telemetry
    try:
        response = fitted(_answered(request, context))
    except MailfoldError as reason:
        response = _refused(reason)
    # Anything else may quote what was asked, and Lambda would log it whole.
    except Exception as mistake:
        telemetry.warn("failed", reason=type(mistake).__name__, where=_where(mistake))
        response = refusal(500, "this is a mistake of ours; it is counted and logged")
    kind = (
        "QueriesFailed" if response.status >= 500 else "QueriesRefused" if response.status >= 400 else "QueriesAnswered"
    )
    telemetry.count(kind)
    # The path as the table has it: what stands in its place may be an address.
    telemetry.say("answered", route=place_of(request), status=response.status, by=response.by)
    return response


def _answered(request: HttpRequest, context: QueryContext) -> Response:
    if request.path == "/console" or request.path.startswith("/console/"):
        return _shown(request)
    try:
        route, in_path = find(request)
    except (NotFound, WrongMethod):
        if request.path != "/healthz":
            # Whoever is not known learns nothing of what is here.
            _admitted(request, context)
        raise
    if route.scope is None:
        return context.health.tell(context.operate.database)
    if route.response is None:
        token = _admitted(request, context, route.scope)
        operate = replace(context.operate, by=f"token:{token.name}")
        return replace(dead_letters.redrive(operate, route.read(request, in_path)), by=token.name)
    return _call(request, context, route, in_path)


def _call(request: HttpRequest, context: QueryContext, route: Route, in_path: dict[str, str]) -> Response:
    assert route.response
    digest = tokens.known_digest(request, context)
    database = context.operate.database
    with database.transaction(read_only=route.reads) as tx:
        token = tokens.admit(tx, digest, request, context)
        tokens.check_scopes(token, route.scopes({}))
        values = route.read(request, in_path)
        tokens.check_scopes(token, route.scopes(values))
        tokens.check_source(token, values.get("source"))
        operate = replace(context.operate, by=f"token:{token.name}")
        if route.replans:
            tx.execute("set local plan_cache_mode = force_custom_plan")
        response = route.response(Call(operate=operate, tx=tx, values=values, token=token))
    _note_use(token, context)
    return replace(response, by=token.name)


def _admitted(request: HttpRequest, context: QueryContext, *scopes: str) -> Token:
    digest = tokens.known_digest(request, context)
    with context.operate.database.transaction(read_only=True) as tx:
        token = tokens.admit(tx, digest, request, context)
    tokens.check_scopes(token, list(scopes))
    _note_use(token, context)
    return token


def _note_use(token: Token, context: QueryContext) -> None:
    now = context.operate.now
    if not tokens.is_use_noted(token, now):
        with context.operate.database.transaction() as tx:
            tx.run("token_used", {"name": token.name, "now": now.isoformat()})


def _shown(request: HttpRequest) -> Response:
    if request.method != "GET":
        raise WrongMethod("GET")
    return console.serve(request.path, request.headers)


def _refused(reason: MailfoldError) -> Response:
    status = STATUS.get(type(reason), 500)
    if isinstance(reason, Unauthenticated):
        return refusal(status, str(reason), www_authenticate='Bearer realm="mailfold"')
    if isinstance(reason, WrongMethod):
        return refusal(status, str(reason), allow=reason.allowed)
    if isinstance(reason, TooManyRequests):
        return refusal(status, str(reason), retry_after=str(reason.wait_s))
    if isinstance(reason, TransientStoreError):
        return refusal(status, "the database is away or takes too long; ask again", retry_after="1")
    return refusal(status, str(reason))


def _where(mistake: Exception) -> str:
    """Return the places of a traceback without any of its values."""
    frames = traceback.extract_tb(mistake.__traceback__)[-4:]
    return " < ".join(f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
