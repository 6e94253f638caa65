"""Is it flowing: totals, plots, status chips and the sources."""

from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from mailfold.errors import BadQuestion
from mailfold.norms import LINES, Traffic
from mailfold.steps.query.answer import Answer
from mailfold.steps.query.keeper import Asked
from mailfold.steps.query.letters import GROUPS, read_groups
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


def totals(asked: Asked) -> Answer:
    """Return how many events of each kind each source had on each day, pruned ones included."""
    days = asked.values.get("days") or 7
    rows = read(asked.tx, "read_totals", {"days": days, "now": asked.now.isoformat(), "sources": asked.sources})
    kept = fitting(rows)
    if kept < len(rows):
        # The newest days that fit as a whole: half a day would look like a bad one.
        cut = rows[kept]["day"]
        rows = [row for row in rows[:kept] if row["day"] != cut] or rows[:kept]
        return Answer(body={"days": days, "totals": rows, "more_days": True})
    return Answer(body={"days": days, "totals": rows, "more_days": False})


def series(asked: Asked) -> Answer:
    """Return events by kind for each minute, hour or day, by the time at which they arrived."""
    step = asked.values.get("step") or "hour"
    length, longest, usual = STEPS[step]
    until = asked.values.get("until") or asked.now
    since = _whole(asked.values.get("since") or _before(until, usual), step)
    # The beginning was moved to that of its step.
    if not timedelta(0) < until - since <= longest + length:
        raise BadQuestion(f"since must be before until, and by at most {longest // length} steps")
    points = read(
        asked.tx,
        "read_event_series",
        {
            "since": since.isoformat(),
            "until": until.isoformat(),
            "step": f"{length.total_seconds()} s",
            "source": asked.text("source"),
            "sources": asked.sources,
        },
    )
    return Answer(body={"step": step, "since": since.isoformat(), "until": until.isoformat(), "points": points})


def status_counts(asked: Asked) -> Answer:
    """Return how many messages have each status, counted up to a limit."""
    counts = read(
        asked.tx,
        "read_status_counts",
        {
            "since": asked.text("since") or "-infinity",
            "until": asked.text("until") or "infinity",
            "source": asked.text("source"),
            "sources": asked.sources,
            "walk": STATUS_WALK,
            "most": STATUS_MOST,
        },
    )
    return Answer(body={"counts": counts})


def sources(asked: Asked) -> Answer:
    """Return how each configured source does."""
    rows = asked.tx.run("watch", {"now": asked.now.isoformat()})
    seen = {source: Traffic(**dict(zip(_COLUMNS, values, strict=True))) for source, *values in rows}
    letters: dict[str, tuple[int, bool]] = {}
    for group in read_groups(asked):
        count, more = letters.get(group["source"] or "", (0, False))
        letters[group["source"] or ""] = count + group["letters"], more or group["more"]
    configured = asked.office.sources
    names = [name for name in (*configured, *sorted(seen.keys() - configured.keys())) if asked.may_see(name)]
    told = [
        _source(name, configured[name].provider if name in configured else None, seen.get(name, Traffic()), asked.now)
        | {"dead_letters": letters.get(name, (0, False))[0], "more_dead_letters": letters.get(name, (0, False))[1]}
        for name in names
    ]
    return Answer(body={"sources": told})


def waiting(asked: Asked) -> Answer:
    """Return the ages that tell whether anything is stuck: the newest event, what is unpublished, dead letters."""
    [ages] = read(asked.tx, "read_waiting", {"sources": asked.sources, "now": asked.now.isoformat()})
    groups = read_groups(asked)
    return Answer(
        body={
            "asked_at": asked.now.isoformat(),
            **ages,
            "oldest_dead_letter_at": min(
                (group["first_at"] for group in groups), key=datetime.fromisoformat, default=None
            ),
            "dead_letters": sum(group["letters"] for group in groups),
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
            {"name": rate, "percent": percent, "line": LINES[rate].percent, "high": percent >= LINES[rate].percent}
            for rate, percent in traffic.rates.items()
        ],
    }


def _window(sends: int, bounced: int, complained: int) -> dict[str, int]:
    return {"sends": sends, "hard_bounces": bounced, "complaints": complained}


def _before(moment: datetime, span: timedelta) -> datetime:
    try:
        return moment - span
    except OverflowError:
        raise BadQuestion("until must be later than that") from None


def _whole(moment: datetime, step: str) -> datetime:
    """Return the beginning of the minute, hour or day that a time lies in."""
    minute = moment.replace(second=0, microsecond=0)
    if step == "minute":
        return minute
    return minute.replace(minute=0) if step == "hour" else minute.replace(hour=0, minute=0)
