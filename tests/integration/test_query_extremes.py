"""Every parameter of every route at its extremes: an answer or a refusal, never a failure of ours."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mailfold.steps.query.cursors import seal
from mailfold.steps.query.kinds import Address, Flag, Kind, Moment, OneOf, Text, Texts, Whole
from mailfold.steps.query.route import Route
from mailfold.steps.query.routes import ROUTES
from tests.support.reader import Reader

MOMENTS = (
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "0001-01-01T00:00:00-23:59",
    "0001-01-02",
    "1582-10-10T00:00:00Z",
    "1970-01-01T00:00:00Z",
    "2026-06-30T23:59:60Z",
    "9999-12-31T00:00:00Z",
    "9999-12-31T23:00:00Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59:59.999999+23:59",
    "9999-12-31T23:59:59.999999-23:59",
    "10000-01-01T00:00:00Z",
    "infinity",
    "-infinity",
)
NUMBERS = ("0", "-0", "-1", "1", "999999999", "-999999999", "1e3", "9" * 19, "9" * 5_000, "0x1", "1.0", "NaN", "\u0661")
TEXTS = ("", " ", "\x00", "\ud800", "'", "%", "x" * 200, "x" * 8_001, "\u0301" * 200, "erased:", "@", "@" * 320)
PLACES = [
    seal({}, "0:0:", "9999-12-31T23:59:59.999999-23:59", "x"),
    seal({}, f"{'9' * 19}:{'9' * 19}:", "0001-01-01T00:00:00+23:59", "x"),
    seal({}, "-infinity", "", ""),
    seal({}, "9999-12-31T23:59:59+00:00", "\U0010ffff", "x"),
    seal({"group": "g"}, "0001-01-01T00:00:00+23:59:59.999999", "x"),
]


def extremes(kind: Kind) -> tuple[str, ...]:
    match kind:
        case Moment():
            return MOMENTS
        case Whole():
            return (*NUMBERS, str(kind.most), str(kind.most + 1), str(kind.least), str(kind.least - 1))
        case OneOf():
            return (*kind.words, "", "x")
        case Flag():
            return ("true", "false", "TRUE", "1", "")
        case Text(most=8_000):
            return (*TEXTS, *PLACES)
        case Text() | Address() | Texts():
            return TEXTS


def in_json(kind: Kind) -> list[Any]:
    numbers = [0, -1, 1, 2**31, 2**63, -(2**63), 10**40, 1.0, 1e308, 0.1, True, None, [], {}, [None], [[]]]
    lists = [[text] for text in TEXTS] + [["x"] * 501, ["x@y"] * 1_001]
    return [*extremes(kind), *numbers, *lists]


def fixed(route: Route) -> str:
    return route.path.format(message_id="m1", address="ann@example.com", dead_letter_id="x")


QUERIES = [(route, name, kind) for route in ROUTES for name, kind in route.in_query.items()]
BODIES = [(route, name, kind) for route in ROUTES for name, kind in route.in_body.items()]
IN_PATHS = [(route, name, kind) for route in ROUTES for name, kind in route.in_path.items()]


def named(case: Any) -> str:
    return f"{case[0].method} {case[0].path} {case[1]}"


@pytest.mark.parametrize("case", QUERIES, ids=named)
def test_every_parameter_of_a_query(reader: Reader, case: tuple[Route, str, Kind]) -> None:
    route, name, kind = case
    failed = []
    for value in extremes(kind):
        reply = reader.ask(route.method, fixed(route), query={name: value.encode("utf-8", "surrogatepass")})  # type: ignore[dict-item]
        if reply.status >= 500:
            failed.append((value[:80], reply.status))

    assert failed == []


@pytest.mark.parametrize("case", IN_PATHS, ids=named)
def test_every_parameter_of_a_path(reader: Reader, case: tuple[Route, str, Kind]) -> None:
    route, name, kind = case
    rest = {other: "x" for other in route.in_path if other != name}

    statuses = [
        reader.ask(route.method, route.path.format(**{name: value}, **rest)).status for value in extremes(kind) if value
    ]

    assert max(statuses) < 500


@pytest.mark.parametrize("case", BODIES, ids=named)
def test_every_field_of_a_body(reader: Reader, case: tuple[Route, str, Kind]) -> None:
    route, name, kind = case
    needed: dict[str, Any] = {"addresses": ["ann@example.com"]} if route.needs else {}
    needed |= {"all": True} if "all" in route.in_body else {}

    failed = []
    for value in in_json(kind):
        reply = reader.ask(route.method, fixed(route), body={**needed, name: value})
        if reply.status >= 500:
            failed.append((str(value)[:80], reply.status))

    assert failed == []


def periods() -> Iterator[tuple[str, dict[str, str]]]:
    paths = {route.path for route, name, _ in QUERIES if name == "since"}
    for path in sorted(paths):
        for since, until in product((None, *MOMENTS), repeat=2):
            given_ = {name: text for name, text in (("since", since), ("until", until)) if text}
            steps = ("minute", "hour", "day") if path.endswith("series") else (None,)
            yield from ((path, {**given_, **({"step": step} if step else {})}) for step in steps)


def test_every_pair_of_times(reader: Reader) -> None:
    failed = [
        (path, query, status)
        for path, query in periods()
        if (status := reader.ask("GET", path, query=query).status) >= 500
    ]

    assert failed == []


def test_a_plot_may_end_with_the_last_second_there_is(reader: Reader) -> None:
    end = {"since": "9999-12-31T23:00:00Z", "until": "9999-12-31T23:59:59Z", "step": "day"}

    assert reader.ask("GET", "/v1/events/series", query=end).status == 200


MOST = datetime.max - datetime.min


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    since=st.datetimes(),
    length=st.timedeltas(min_value=-timedelta(days=40), max_value=timedelta(days=40)) | st.timedeltas(),
    step=st.sampled_from(["minute", "hour", "day"]),
    offset=st.integers(-1_439, 1_439),
)
def test_any_plot_is_an_answer_or_a_refusal(
    reader: Reader, since: datetime, length: timedelta, step: str, offset: int
) -> None:
    sign, minutes = "-" if offset < 0 else "+", abs(offset)
    zone = f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    end = since + min(max(length, datetime.min - since), datetime.max - since)
    query = {"since": f"{since.isoformat()}{zone}", "until": f"{end.isoformat()}{zone}", "step": step}

    assert reader.ask("GET", "/v1/events/series", query=query).status in (200, 400)
