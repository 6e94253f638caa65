"""Why an address is stopped: the rule, its evidence, since when, and who lifted it."""

from datetime import datetime
from typing import Any

from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.store.reading import read

#: The newest of each; the evidence of the stops is kept beside them, and outlives them.
EVENTS = 50
DECISIONS = 50

#: What an event's type stops for, in a word for programs and in words for people.
RULES = {
    "bounced": ("hard_bounce", "a hard bounce: the address takes no mail"),
    "complained": ("complaint", "a complaint: the recipient called a mail spam"),
    "unsubscribed": ("unsubscribe", "an unsubscribe: the recipient asked for no more"),
    "dropped": ("stop_list", "the provider's own suppression list: it does not mail this address"),
}
OTHER_RULE = ("other", "an event that stops")


def explain(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return for each scope whether and why an address is stopped, and whatever bears on it."""
    address = arguments.address()
    with context.database.transaction() as tx:
        rows = read(tx, "read_suppressions_of", {"address": address})
        events = read(tx, "read_bearing_events", {"address": address, "most": EVENTS})
        decisions = read(tx, "read_audit_of", {"address": address, "most": DECISIONS})
    return {
        "address": address,
        "may_be_mailed": not any(row["suppressed"] and row["scope"] == "" for row in rows),
        "scopes": [explain_row(row) for row in rows],
        "events": events,
        "decisions": decisions,
    }


def explain_row(row: dict[str, Any]) -> dict[str, Any]:
    """Say in words what one row of the suppression list amounts to."""
    lift = _last_lift(row)
    # Without a lift between, an address is stopped since its first stop; the stops in between are not kept.
    stops = [stop for stop in _stops(row) if lift is None or _moment(stop) >= _moment(lift)]
    decisive = stops[-1] if row["suppressed"] and stops else None
    if row["manual_effect"] == "suppress":
        decisive = _manual_suppression(row)
    return {
        "scope": row["scope"],
        "erased": row["address"].startswith("erased:"),
        "suppressed": row["suppressed"],
        "rule": decisive["rule"] if decisive else None,
        "because": decisive["words"] if decisive else None,
        "since": min([*stops, decisive], key=_moment)["at"] if decisive else None,
        "first_suppress": row["first_suppress"],
        "last_suppress": row["last_suppress"],
        "soft_suppress": row["soft_suppress"],
        "manual": _manual_decision(row),
        "lifted": lift,
    }


def _stops(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the stops that are known, oldest first."""
    stops = [_by_event(row[name], row[f"{name}_at"]) for name in ("first_suppress", "last_suppress") if row[name]]
    if row["soft_suppress"]:
        stops.append(_by_soft_bounces(row))
    return sorted(stops, key=_moment)


def _by_event(evidence: dict[str, Any], at: str) -> dict[str, Any]:
    rule, words = RULES.get(evidence["type"], OTHER_RULE)
    said = f": {evidence['reason']}" if evidence.get("reason") else ""
    return {"at": at, "rule": rule, "words": f"{words}; {evidence['source']} said so on {at}{said}"}


def _by_soft_bounces(row: dict[str, Any]) -> dict[str, Any]:
    evidence = row["soft_suppress"]
    words = f"{evidence['limit']} soft bounces in a row from {evidence['first_at']} on, and no delivery since"
    return {"at": row["soft_suppress_at"], "rule": "soft_bounces", "words": words}


def _manual_suppression(row: dict[str, Any]) -> dict[str, Any]:
    words = f"{row['manual_by']} stopped it manually on {row['manual_at']}: {row['manual_reason']}"
    return {"at": row["manual_at"], "rule": "manual", "words": words}


def _manual_decision(row: dict[str, Any]) -> dict[str, Any] | None:
    if row["manual_effect"] is None:
        return None
    return {
        "effect": row["manual_effect"],
        "at": row["manual_at"],
        "by": row["manual_by"],
        "reason": row["manual_reason"],
    }


def _last_lift(row: dict[str, Any]) -> dict[str, Any] | None:
    """Return who or what lifted it last."""
    lifts = []
    if row["last_lift"]:
        evidence = row["last_lift"]
        by = f"{evidence['source']}: {evidence['type']}"
        lifts.append({"at": row["last_lift_at"], "by": by, "why": evidence.get("reason")})
    if row["manual_effect"] == "lift":
        lifts.append({"at": row["manual_at"], "by": row["manual_by"], "why": row["manual_reason"]})
    return max(lifts, key=_moment, default=None)


def _moment(decision: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(decision["at"])
