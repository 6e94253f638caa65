"""The suppression list manually: look through it, take it out, stop an address, lift what stops one."""

from typing import Any

from mailfold.errors import CommandRefused
from mailfold.events import Effect
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.store.connection import Transaction
from mailfold.store.reading import read
from mailfold.store.suppressions import decide_manually

PAGE_ROWS = 1_000
#: What `suppressed` and its page call the rule that decides.
REASONS = {"bounced", "complained", "unsubscribed", "dropped", "soft_bounces", "manual", "other"}


def list_suppressions(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return the next page of the suppression list; unless only active ones are wanted, with those that are lifted."""
    return _page(context, arguments, active=arguments.flag("active"))


def export_suppressions(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return the next page of what is stopped now; who takes the list out is noted once, at its first page."""
    total = None
    if arguments.value("after") is None:
        with context.database.transaction() as tx:
            [[total]] = tx.run("count_suppressed", {})
            context.note(tx, "suppressions.export", rows=total)
    return {**_page(context, arguments, active=True), "total": total}


def add_suppression(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Stop an address until it is lifted manually."""
    address, scope, reason = _decision(arguments)
    with context.database.transaction() as tx:
        # The person may be erased: then the stop belongs to the row that is there, and the address stays out.
        for known in _rows_of(tx, address, scope) or [address]:
            _decide(tx, context, known, Effect.SUPPRESS, scope=scope, reason=reason)
        context.note(tx, "suppressions.add", address=address, scope=scope)
        return {"address": address, "scope": scope, "suppressions": _read_of(tx, address)}


def lift_suppression(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Lift whatever stopped an address in a scope so far."""
    address, scope, reason = _decision(arguments)
    with context.database.transaction() as tx:
        stops = [row for row in _read_of(tx, address) if row["suppressed"]]
        suppressed = [row["address"] for row in stops if row["scope"] == scope]
        if not suppressed:
            elsewhere = ", ".join(repr(row["scope"]) for row in stops)
            raise CommandRefused(
                f"nothing stops this address in the scope {scope!r}"
                + (f"; it is stopped in {elsewhere}" if elsewhere else "")
            )
        for known in suppressed:
            _decide(tx, context, known, Effect.LIFT, scope=scope, reason=reason)
        context.note(tx, "suppressions.lift", address=address, scope=scope)
        return {"address": address, "scope": scope, "suppressions": _read_of(tx, address)}


def _page(context: OperateContext, arguments: Arguments, *, active: bool) -> dict[str, Any]:
    after_address, after_scope = _cursor(arguments.value("after"))
    reason = arguments.text("reason", "")
    if reason and reason not in REASONS:
        raise CommandRefused(f"reason must be one of {', '.join(sorted(REASONS))}")
    most = arguments.number("most", PAGE_ROWS, most=PAGE_ROWS)
    begins = {"after_address": after_address, "after_scope": after_scope}
    with context.database.transaction() as tx:
        rows = read(tx, "read_suppressions", {**begins, "active": active, "reason": reason, "most": most})
    last = rows[-1] if len(rows) == most else None
    return {"suppressions": rows, "next": [last["address"], last["scope"]] if last else None}


def _cursor(value: Any) -> tuple[str, str]:
    if value is None:
        return "", ""
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(part, str) for part in value):
        raise CommandRefused("after must be what the page before called next")
    return value[0], value[1]


def _decision(arguments: Arguments) -> tuple[str, str, str]:
    return arguments.address(), arguments.text("scope", ""), arguments.text("reason").strip()


def _decide(tx: Transaction, context: OperateContext, address: str, effect: Effect, *, scope: str, reason: str) -> None:
    decide_manually(
        tx,
        address,
        effect,
        scope=scope,
        decided_at=context.now,
        decided_by=context.by,
        reason=reason,
        publish=context.publish,
    )


def _read_of(tx: Transaction, address: str) -> list[dict[str, Any]]:
    return read(tx, "read_suppressions_of", {"address": address})


def _rows_of(tx: Transaction, address: str, scope: str) -> list[str]:
    return [row["address"] for row in _read_of(tx, address) if row["scope"] == scope]
