"""Dead letters: shown by the way in which they failed, and folded again by today's code."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from mailfold.errors import Declined
from mailfold.retention import DEFAULT_DAYS
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.office import Office
from mailfold.steps.redrive import redrive, rehearse
from mailfold.steps.reopen import Outcome
from mailfold.steps.unit import UnitOfWork
from mailfold.store import letters
from mailfold.store.connection import Parameter, Transaction
from mailfold.store.letters import Choice, Letter
from mailfold.store.reading import read

#: The most letters of one transaction: few enough that nobody waits long for a row that it holds.
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


def groups(office: Office, arguments: Arguments) -> dict[str, Any]:
    """Return how many letters failed in which way, and one letter of each group."""
    with office.database.transaction() as tx:
        found = read(tx, "letters_groups", {})
    return {"groups": found, "letters": sum(group["letters"] for group in found)}


def list_letters(office: Office, arguments: Arguments) -> dict[str, Any]:
    """Return a page of the newest letters, without their raw, and where the next page begins."""
    before, _, before_id = arguments.text("cursor", "").partition(" ")
    most = arguments.number("most", 50, most=LARGEST_PAGE)
    parameters: dict[str, Parameter] = {
        "group_id": arguments.text("group", ""),
        "before": _moment(before) if before else (office.now + timedelta(days=1)).isoformat(),
        "before_id": before_id,
        "most": most,
    }
    with office.database.transaction() as tx:
        found = read(tx, "letters_list", parameters)
    last = found[-1] if len(found) == most else None
    return {"dead_letters": found, "cursor": last and f"{last['created_at']} {last['dead_letter_id']}"}


def show(office: Office, arguments: Arguments) -> dict[str, Any]:
    """Return one letter, whole."""
    with office.database.transaction() as tx:
        found = read(tx, "letters_show", {"dead_letter_id": arguments.text("id")})
    if not found:
        raise Declined("there is no such dead letter")
    return found[0]


def redrive_letters(office: Office, arguments: Arguments) -> dict[str, Any]:
    """Fold one page of letters again; unless `apply` is on, undo it and only tell what would become of them."""
    choice = _choice(office, arguments)
    apply = arguments.flag("apply")
    most = arguments.number("most", 100, most=LARGEST_PAGE)
    after_id = arguments.text("cursor", "")
    with office.transaction(keep=apply) as tx:
        page = letters.next_ids(tx, choice, after_id=after_id, most=most)
        taken = letters.take(tx, [key for key, why in page.items() if why is None])
        outcomes = redrive(tx, _unit(office, publish=apply), taken, claims_since=_claims_since(office))
        if apply and outcomes:
            _note(office, tx, choice, outcomes)
    left_out = [why for why in page.values() if why]
    return {
        "applied": apply,
        **_summary(outcomes),
        "left_out": len(left_out),
        "left_out_reason": "; ".join(LEFT_OUT[why] for why in sorted(set(left_out))) or None,
        "cursor": next(reversed(page), None),
        "until": choice.until.isoformat(),
    }


def try_records(office: Office, arguments: Arguments) -> dict[str, Any]:
    """Tell for each body of a record what today's process would make of it; nothing is written."""
    bodies = arguments.texts("bodies")
    if len(bodies) > LARGEST_TRIAL:
        raise Declined(f"bodies must be at most {LARGEST_TRIAL}")
    with office.database.transaction(keep=False) as tx:
        unit = _unit(office, publish=False)
        outcomes = rehearse(tx, unit, _as_letters(bodies, office.now), claims_since=_claims_since(office))
    told = {outcome.letter.dead_letter_id: _told(outcome) for outcome in outcomes}
    return {"records": [told[str(index)] for index in range(len(bodies))]}


def _as_letters(bodies: Iterable[str], now: datetime) -> list[Letter]:
    return [
        Letter(
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


def _choice(office: Office, arguments: Arguments) -> Choice:
    ids, group_id = arguments.texts("ids"), arguments.text("group", "")
    if sum((bool(ids), bool(group_id), arguments.flag("all"))) != 1:
        raise Declined("say which dead letters: ids, a group, or all")
    if len(ids) > LARGEST_PAGE:
        raise Declined(f"ids must be at most {LARGEST_PAGE}")
    unproven = arguments.flag("unproven")
    if unproven and not ids:
        raise Declined(NEEDS_IDS)
    until = arguments.moment("until") or office.now
    return Choice(dead_letter_ids=ids, group_id=group_id, until=until, unproven=unproven)


def _claims_since(office: Office) -> datetime:
    """Return since when every claim that a record could meet is still there."""
    days = office.retention.get("claims", DEFAULT_DAYS["claims"])
    return office.now - timedelta(days=days) + CLAIM_AHEAD


def _unit(office: Office, *, publish: bool) -> UnitOfWork:
    return UnitOfWork(
        database=office.database,
        sources=office.sources,
        topics=office.topics,
        # Even what is rolled back draws numbers of the outbox.
        publish=office.publish and publish,
        remaining_ms=office.remaining_ms,
    )


def _note(office: Office, tx: Transaction, choice: Choice, outcomes: Sequence[Outcome]) -> None:
    results = Counter(outcome.result for outcome in outcomes)
    unproven = sorted(outcome.letter.dead_letter_id for outcome in outcomes if outcome.letter.unproven)
    # By their ids, because nothing else in the store says later which events were believed on a person's word.
    trusted: dict[str, Any] = {"unproven": len(unproven), "unproven_ids": unproven} if unproven else {}
    office.note(
        tx,
        "dead-letters.redrive",
        group=choice.group_id or None,
        letters=len(outcomes),
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
        "letters": len(outcomes),
        "new": results["new"],
        "duplicate": results["duplicate"],
        "conflict": results["conflict"],
        "left": results["left"],
        "events": sum(outcome.counts.new for outcome in outcomes),
        "reasons": [
            {"source": source, "kind": kind, "reason": reason, "letters": count}
            for (source, kind, reason), count in reasons.most_common()
        ],
    }


def _shortened(reason: str) -> str:
    return reason.strip().rpartition("\n")[2][:REASON_LENGTH]


def _moment(text: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        raise Declined("cursor must be one that an earlier page ended with") from None
