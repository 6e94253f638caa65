"""Is it flowing: totals, plots, status chips and the sources."""

from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from mailfold.errors import BadRequest
from mailfold.source_health import THRESHOLDS, Traffic
from mailfold.steps.query.context import Call
from mailfold.steps.query.dead_letters import GROUPS, read_groups
from mailfold.steps.query.response import Response
from mailfold.steps.query.sizes import fitting
from mailfold.store.reading import read

#: step -> its length, how far a plot may reach, and how far it reaches by itself
STEPS = {
    "minute": (timedelta(minutes=1), timedelta(hours=3), timedelta(hours=1)),
    "hour": (timedelta(hours=1), timedelta(days=7), timedelta(days=1)),
    "day": (timedelta(days=1), timedelta(days=31), timedelta(days=31)),
}
#: How many messages of a status are counted, and how many events are looked at for the common ones.
STATUS_MOST = 1_000
STATUS_WALK = 5_000

_COLUMNS = [field.name for field in fields(Traffic)]


def totals(call: Call) -> Response:
    """Return how many events of each kind each source had on each day, pruned ones included."""
    days = call.values.get("days") or 7
    rows = read(call.tx, "read_totals", {"days": days, "now": call.now.isoformat(), "sources": call.sources})
    kept = fitting(rows)
    if kept < len(rows):
        # The newest days that fit as a whole: half a day would look like a bad one.
        cut = rows[kept]["day"]
        rows = [row for row in rows[:kept] if row["day"] != cut] or rows[:kept]
        return Response(body={"days": days, "totals": rows, "more_days": True})
    return Response(body={"days": days, "totals": rows, "more_days": False})


def series(call: Call) -> Response:
    """Return events by kind for each minute, hour or day, by the time at which they arrived."""
    step = call.values.get("step") or "hour"
    length, longest, usual = STEPS[step]
    until = call.values.get("until") or call.now
    since = _whole(call.values.get("since") or _before(until, usual), step)
    # The beginning was moved to that of its step.
    if not timedelta(0) < until - since <= longest + length:
        raise BadRequest(f"since must be before until, and by at most {longest // length} steps")
    points = read(
        call.tx,
        "read_event_series",
        {
            "since": since.isoformat(),
            "until": until.isoformat(),
            "step": f"{length.total_seconds()} s",
            "source": call.text("source"),
            "sources": call.sources,
        },
    )
    return Response(body={"step": step, "since": since.isoformat(), "until": until.isoformat(), "points": points})


def status_counts(call: Call) -> Response:
    """Return how many messages have each status, counted up to a limit."""
    counts = read(
        call.tx,
        "read_status_counts",
        {
            "since": call.text("since") or "-infinity",
            "until": call.text("until") or "infinity",
            "source": call.text("source"),
            "sources": call.sources,
            "walk": STATUS_WALK,
            "most": STATUS_MOST,
        },
    )
    return Response(body={"counts": counts})


def sources(call: Call) -> Response:
    """Return how each configured source does."""
    rows = call.tx.run("watch", {"now": call.now.isoformat()})
    seen = {source: Traffic(**dict(zip(_COLUMNS, values, strict=True))) for source, *values in rows}
    dead_letters: dict[str, tuple[int, bool]] = {}
    for group in read_groups(call):
        count, more = dead_letters.get(group["source"] or "", (0, False))
        dead_letters[group["source"] or ""] = count + group["dead_letters"], more or group["more"]
    configured = call.operate.sources
    names = [name for name in (*configured, *sorted(seen.keys() - configured.keys())) if call.may_see(name)]
    told = [
        _source(name, configured[name].provider if name in configured else None, seen.get(name, Traffic()), call.now)
        | {
            "dead_letters": dead_letters.get(name, (0, False))[0],
            "more_dead_letters": dead_letters.get(name, (0, False))[1],
        }
        for name in names
    ]
    return Response(body={"sources": told})


def waiting(call: Call) -> Response:
    """Return the ages that tell whether anything is stuck: the newest event, what is unpublished, dead letters."""
    [ages] = read(call.tx, "read_waiting", {"sources": call.sources, "now": call.now.isoformat()})
    groups = read_groups(call)
    return Response(
        body={
            "asked_at": call.now.isoformat(),
            **ages,
            "oldest_dead_letter_at": min(
                (group["first_at"] for group in groups), key=datetime.fromisoformat, default=None
            ),
            "dead_letters": sum(group["dead_letters"] for group in groups),
            "more_dead_letters": any(group["more"] for group in groups) or len(groups) == GROUPS,
        }
    )


def _source(name: str, provider: str | None, traffic: Traffic, now: datetime) -> dict[str, Any]:
    silent_s = traffic.silent_seconds
    return {
        "source": name,
        "provider": provider,
        "last_event_at": None if silent_s is None else (now - timedelta(seconds=silent_s)).isoformat(),
        "quiet": traffic.is_quiet,
        "hour": _window(traffic.hour_sends, traffic.hour_bounced, traffic.hour_complained)
        | {"events": traffic.hour_events},
        "day": _window(traffic.day_sends, traffic.day_bounced, traffic.day_complained),
        "rates": [
            {
                "name": rate,
                "percent": percent,
                "line": THRESHOLDS[rate].percent,
                "high": percent >= THRESHOLDS[rate].percent,
            }
            for rate, percent in traffic.rates.items()
        ],
    }


def _window(sends: int, bounced: int, complained: int) -> dict[str, int]:
    return {"sends": sends, "hard_bounces": bounced, "complaints": complained}


def _before(moment: datetime, span: timedelta) -> datetime:
    try:
        return moment - span
    except OverflowError:
        raise BadRequest("until must be later than that") from None


def _whole(moment: datetime, step: str) -> datetime:
    """Return the beginning of the minute, hour or day that a time lies in."""
    minute = moment.replace(second=0, microsecond=0)
    if step == "minute":
        return minute
    return minute.replace(minute=0) if step == "hour" else minute.replace(hour=0, minute=0)
