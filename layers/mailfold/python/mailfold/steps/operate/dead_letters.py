"""Dead letters: shown by the way in which they failed, and folded again by today's code."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from mailfold.errors import CommandRefused
from mailfold.retention import DEFAULT_DAYS
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.redrive import redrive, rehearse
from mailfold.steps.reopen import Outcome
from mailfold.steps.unit import UnitOfWork
from mailfold.store import dead_letters
from mailfold.store.connection import Parameter, Transaction
from mailfold.store.dead_letters import Choice, StoredDeadLetter
from mailfold.store.reading import read

#: The most dead letters of one transaction: few enough that nobody waits long for a row that it holds.
LARGEST_PAGE = 500
#: The most records that are tried in one order; SQS hands out ten at a time.
LARGEST_TRIAL = 10
#: A reason may be a whole traceback; its last line is what tells.
REASON_LENGTH = 200
#: Why a redrive leaves a dead letter out, and what a person can do about it.
LEFT_OUT = {
    "unproven": (
        "some failed an authenticity check: anyone who saw one signature could have sent them. "
        "Look at each one; to fold it, give its id together with unproven"
    ),
    "killed_its_worker": (
        "some killed the process that folded them, and could end this redrive as well. "
        "Once the cause is fixed, redrive them by their group or id"
    ),
    "over_budget": (
        "some took more processor time to read than an event may, and would take it from this redrive. "
        "Once the cause is fixed, redrive them by their group or id"
    ),
}
NEEDS_IDS = "unproven needs ids, not a group or all: what failed an authenticity check is folded one by one"
#: The signature of a token is tolerated for 9 hours before and after its stamp, so that the claim of a record can be
#: older than the record by less than this.
CLAIM_AHEAD = timedelta(days=1)


def groups(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return how many dead letters failed in which way, and one dead letter of each group."""
    with context.database.transaction() as tx:
        found = read(tx, "dead_letters_groups", {})
    return {"groups": found, "dead_letters": sum(group["dead_letters"] for group in found)}


def list_dead_letters(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return a page of the newest dead letters, without their raw, and where the next page begins."""
    before, _, before_id = arguments.text("cursor", "").partition(" ")
    most = arguments.number("most", 50, most=LARGEST_PAGE)
    parameters: dict[str, Parameter] = {
        "group_id": arguments.text("group", ""),
        "before": _moment(before) if before else (context.now + timedelta(days=1)).isoformat(),
        "before_id": before_id,
        "most": most,
    }
    with context.database.transaction() as tx:
        found = read(tx, "dead_letters_list", parameters)
    last = found[-1] if len(found) == most else None
    return {"dead_letters": found, "cursor": last and f"{last['created_at']} {last['dead_letter_id']}"}


def show(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return one dead letter, whole."""
    with context.database.transaction() as tx:
        found = read(tx, "dead_letters_show", {"dead_letter_id": arguments.text("id")})
    if not found:
        raise CommandRefused("there is no such dead letter")
    return found[0]


def redrive_dead_letters(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Fold one page of dead letters again; unless `apply` is on, undo it and only tell what would become of them."""
    choice = _choice(context, arguments)
    apply = arguments.flag("apply")
    most = arguments.number("most", 100, most=LARGEST_PAGE)
    after_id = arguments.text("cursor", "")
    with context.transaction(keep=apply) as tx:
        page = dead_letters.next_ids(tx, choice, after_id=after_id, most=most)
        taken = dead_letters.take(tx, [key for key, why in page.items() if why is None])
        outcomes = redrive(tx, _unit(context, publish=apply), taken, claims_since=_claims_since(context))
        if apply and outcomes:
            _note(context, tx, choice, outcomes)
    left_out = [why for why in page.values() if why]
    return {
        "applied": apply,
        **_summary(outcomes),
        "left_out": len(left_out),
        "left_out_reason": "; ".join(LEFT_OUT[why] for why in sorted(set(left_out))) or None,
        "cursor": next(reversed(page), None),
        "until": choice.until.isoformat(),
    }


def try_records(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Tell for each body of a record what today's process would make of it; nothing is written."""
    bodies = arguments.texts("bodies")
    if len(bodies) > LARGEST_TRIAL:
        raise CommandRefused(f"bodies must be at most {LARGEST_TRIAL}")
    with context.database.transaction(keep=False) as tx:
        unit = _unit(context, publish=False)
        outcomes = rehearse(tx, unit, _as_letters(bodies, context.now), claims_since=_claims_since(context))
    told = {outcome.dead_letter.dead_letter_id: _told(outcome) for outcome in outcomes}
    return {"records": [told[str(index)] for index in range(len(bodies))]}


def _as_letters(bodies: Iterable[str], now: datetime) -> list[StoredDeadLetter]:
    return [
        StoredDeadLetter(
            dead_letter_id=str(index),
            kind="record",
            reason="",
            source=None,
            provider=None,
            claim_key=None,
            headers={},
            raw=body,
            received_at=now,
        )
        for index, body in enumerate(bodies)
    ]


def _told(outcome: Outcome) -> dict[str, Any]:
    kind, reason = outcome.why if outcome.result == "left" else ("", "")
    return {
        # Back on the queue it takes no claim either: process keeps it as a dead letter or counts it.
        "result": "conflict" if outcome.turned_away else outcome.result,
        "source": outcome.source,
        "kind": kind,
        "reason": _shortened(reason),
        "events": outcome.counts.as_result(),
    }


def _choice(context: OperateContext, arguments: Arguments) -> Choice:
    ids, group_id = arguments.texts("ids"), arguments.text("group", "")
    if sum((bool(ids), bool(group_id), arguments.flag("all"))) != 1:
        raise CommandRefused("say which dead letters: ids, a group, or all")
    if len(ids) > LARGEST_PAGE:
        raise CommandRefused(f"ids must be at most {LARGEST_PAGE}")
    unproven = arguments.flag("unproven")
    if unproven and not ids:
        raise CommandRefused(NEEDS_IDS)
    until = arguments.moment("until") or context.now
    return Choice(dead_letter_ids=ids, group_id=group_id, until=until, unproven=unproven)


def _claims_since(context: OperateContext) -> datetime:
    """Return since when every claim that a record could meet is still there."""
    days = context.retention.get("claims", DEFAULT_DAYS["claims"])
    return context.now - timedelta(days=days) + CLAIM_AHEAD


def _unit(context: OperateContext, *, publish: bool) -> UnitOfWork:
    return UnitOfWork(
        database=context.database,
        sources=context.sources,
        topics=context.topics,
        # Even what is rolled back draws numbers of the outbox.
        publish=context.publish and publish,
        remaining_ms=context.remaining_ms,
    )


def _note(context: OperateContext, tx: Transaction, choice: Choice, outcomes: Sequence[Outcome]) -> None:
    results = Counter(outcome.result for outcome in outcomes)
    unproven = sorted(outcome.dead_letter.dead_letter_id for outcome in outcomes if outcome.dead_letter.unproven)
    # By their ids, because nothing else in the store says later which events were believed on a person's word.
    trusted: dict[str, Any] = {"unproven": len(unproven), "unproven_ids": unproven} if unproven else {}
    context.note(
        tx,
        "dead-letters.redrive",
        group=choice.group_id or None,
        dead_letters=len(outcomes),
        folded=len(outcomes) - results["left"],
        left=results["left"],
        **trusted,
    )


def _summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    results = Counter(outcome.result for outcome in outcomes)
    reasons = Counter(
        (outcome.source, outcome.why[0], _shortened(outcome.why[1])) for outcome in outcomes if outcome.result == "left"
    )
    return {
        "dead_letters": len(outcomes),
        "new": results["new"],
        "duplicate": results["duplicate"],
        "conflict": results["conflict"],
        "left": results["left"],
        "events": sum(outcome.counts.new for outcome in outcomes),
        "reasons": [
            {"source": source, "kind": kind, "reason": reason, "dead_letters": count}
            for (source, kind, reason), count in reasons.most_common()
        ],
    }


def _shortened(reason: str) -> str:
    return reason.strip().rpartition("\n")[2][:REASON_LENGTH]


def _moment(text: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        raise CommandRefused("cursor must be one that an earlier page ended with") from None
