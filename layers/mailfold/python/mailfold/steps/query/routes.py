"""Every route of the API: what it takes, who may ask, and which function answers."""

from mailfold.errors import NotFound, WrongMethod
from mailfold.steps.query import dead_letters, flow, messages, openapi, suppressions
from mailfold.steps.query.kinds import Address, Flag, Kind, Moment, OneOf, Text, Texts, Whole
from mailfold.steps.query.request import HttpRequest
from mailfold.steps.query.response import Response
from mailfold.steps.query.route import Route
from mailfold.steps.query.schemas import CLASSES, STATUSES

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
MOST_CHECKED = 1_000
PAGE = Whole(most=200)
#: API Gateway takes some 10 KB of path, query and headers together.
CURSOR = Text(most=8_000)
NAME = Text(most=200)
SCOPE = Text(least=0, most=200)


PERIOD: dict[str, Kind] = {"since": Moment(), "until": Moment()}
PAGES: dict[str, Kind] = {"limit": PAGE, "cursor": CURSOR}
BY_HAND: dict[str, Kind] = {"scope": SCOPE, "reason": Text(least=0, most=1_000)}

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/v1/messages",
        scope="read",
        summary="Messages by recipient, status, source and time, the newest first",
        in_query={
            "recipient": Address(),
            "status": OneOf(words=STATUSES),
            "bounce_class": OneOf(words=CLASSES),
            "source": NAME,
            **PERIOD,
            **PAGES,
        },
        answers="Messages",
        response=messages.list_messages,
        replans=True,
    ),
    Route(
        method="GET",
        path="/v1/messages/{message_id}",
        scope="read",
        summary="What happened to a message: its status for each recipient, and the timeline",
        in_path={"message_id": Text(most=1_000)},
        in_query={"raw": Flag()},
        more_scopes={"raw": "raw"},
        answers="Message",
        response=messages.show_message,
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/v1/recipients/{address}",
        scope="read",
        summary="What is known of an address, and whether it may be mailed",
        in_path={"address": Address()},
        answers="Recipient",
        response=messages.show_recipient,
    ),
    Route(
        method="POST",
        path="/v1/suppressions/check",
        scope="check",
        summary="Whether each of up to 1,000 addresses is stopped",
        in_body={"addresses": Texts(most=MOST_CHECKED), "scope": SCOPE},
        needs=("addresses",),
        answers="Checked",
        response=suppressions.check,
    ),
    Route(
        method="GET",
        path="/v1/suppressions",
        scope="read",
        summary="The addresses that are or were stopped, the newest first",
        in_query={"reason": NAME, "active": Flag(), **PAGES},
        answers="Suppressions",
        response=suppressions.list_suppressions,
        replans=True,
    ),
    Route(
        method="PUT",
        path="/v1/suppressions/{address}",
        scope="operate",
        summary="Stop an address manually, until it is lifted manually",
        reads=False,
        in_path={"address": Address()},
        in_body=BY_HAND,
        answers="Decided",
        response=suppressions.suppress,
        refusals=(409,),
    ),
    Route(
        method="DELETE",
        path="/v1/suppressions/{address}",
        scope="operate",
        summary="Lift manually whatever has stopped an address so far",
        reads=False,
        in_path={"address": Address()},
        in_body=BY_HAND,
        answers="Decided",
        response=suppressions.lift,
        refusals=(404, 409),
    ),
    Route(
        method="GET",
        path="/v1/totals",
        scope="read",
        summary="Events by the day on which they happened, by source and kind, pruned ones included",
        in_query={"days": Whole(most=366)},
        answers="Totals",
        response=flow.totals,
        replans=True,
    ),
    Route(
        method="GET",
        path="/v1/events/series",
        scope="read",
        summary="Events by kind for each minute (3 hours at most), hour (7 days) or day (31 days) of their arrival",
        in_query={"step": OneOf(words=tuple(flow.STEPS)), "source": NAME, **PERIOD},
        answers="Series",
        response=flow.series,
        replans=True,
    ),
    Route(
        method="GET",
        path="/v1/statuses/counts",
        scope="read",
        summary="How many messages have each status, counted up to 1,000",
        in_query={"source": NAME, **PERIOD},
        answers="StatusCounts",
        response=flow.status_counts,
        replans=True,
    ),
    Route(
        method="GET",
        path="/v1/sources",
        scope="read",
        summary="How each source does: its last event, its rates, whether it is quiet, its dead letters",
        answers="Sources",
        response=flow.sources,
        replans=True,
    ),
    Route(
        method="GET",
        path="/v1/waiting",
        scope="read",
        summary="The ages of the newest event, of the oldest unpublished change and of the oldest dead letter",
        answers="Waiting",
        response=flow.waiting,
    ),
    Route(
        method="POST",
        path="/v1/dead-letters/redrive",
        scope="operate",
        summary="Fold dead letters again, or tell what would become of them",
        reads=False,
        in_body=dead_letters.CHOICE,
        answers="Redriven",
        refusals=(409,),
    ),
    Route(
        method="GET",
        path="/v1/dead-letters",
        scope="read",
        summary="The ways in which dead letters failed; with a group, its dead letters, the newest first",
        in_query={"group": NAME, **PAGES},
        answers="DeadLetters",
        response=dead_letters.list_dead_letters,
        replans=True,
    ),
    Route(
        method="GET",
        path="/v1/dead-letters/{dead_letter_id}",
        scope="read",
        summary="One dead letter, with what was received where the token may see it",
        in_path={"dead_letter_id": NAME},
        in_query={"raw": Flag()},
        more_scopes={"raw": "raw"},
        answers="DeadLetter",
        response=dead_letters.show_dead_letter,
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/v1/openapi.json",
        scope="read",
        summary="This document",
        answers="Document",
        response=lambda _: Response(body=openapi.document(ROUTES)),
    ),
    Route(
        method="GET",
        path="/healthz",
        scope=None,
        summary="Whether the database can be reached, and the version of its schema",
        answers="Health",
    ),
)


def place_of(request: HttpRequest) -> str:
    """Return a question's method and path as this table has them, for a log line that tells nothing else."""
    fitting = [route.path for route in ROUTES if route.pattern.fullmatch(request.path)]
    method = request.method if request.method in METHODS else "?"
    if request.path == "/console" or request.path.startswith("/console/"):
        return f"{method} /console"
    return f"{method} {min(fitting, key=lambda path: '{' in path, default='elsewhere')}"


def find(request: HttpRequest) -> tuple[Route, dict[str, str]]:
    """Return the route of a question and what its path says; a fixed path comes before one with a parameter."""
    found = [(route, match) for route in ROUTES if (match := route.pattern.fullmatch(request.path))]
    fixed = [(route, match) for route, match in found if not match.groupdict()] or found
    if not fixed:
        raise NotFound("there is no such path")
    for route, match in fixed:
        if route.method == request.method:
            return route, match.groupdict()
    raise WrongMethod(", ".join(sorted(route.method for route, _ in fixed)))
