"""refold: what another rule would make of the stored events, told page by page and never kept."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mailfold.errors import CommandRefused
from mailfold.events import BounceClass, EventType
from mailfold.fold import effect_of
from mailfold.jsontext import dumps
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.operate.replay import Undone, cursor_parameters, read_cursor, retry_on_lock
from mailfold.store.connection import Transaction
from mailfold.store.reading import read
from mailfold.store.replay import FORCE_CUSTOM_PLAN, Row, write_readings

#: Small, because a page holds the rows of its addresses until it is undone.
PAGE_ADDRESSES = 100
LARGEST_PAGE = 500
#: What cdk.json allows.
LEAST_LIMIT, MOST_LIMIT = 2, 100
#: The sweep takes up addresses that replay's statements did not, after those that they did: whoever only asks gives way
#: to a live batch before Postgres looks for a deadlock (1 s).
GIVE_WAY = "set local lock_timeout = '500ms'"
CLASSES = {"hard": BounceClass.HARD, "soft": BounceClass.SOFT}

# https://www.rfc-editor.org/rfc/rfc3463#section-2
_CODE = re.compile(r"[245]\.\d{1,3}\.\d{1,3}")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What would be otherwise."""

    soft_limit: int | None
    #: The class of a bounce whose reason holds this enhanced status code.
    classes: Mapping[str, BounceClass]

    @classmethod
    def read(cls, arguments: Arguments) -> "Rule":
        """Read it from an order, which must change something."""
        limit = arguments.value("soft_limit")
        rule = cls(
            soft_limit=None if limit is None else arguments.number("soft_limit", 0, least=LEAST_LIMIT, most=MOST_LIMIT),
            classes=_classes(arguments.value("classes")),
        )
        if rule.soft_limit is None and not rule.classes:
            raise CommandRefused("name another soft limit, or another class of a code")
        return rule

    @property
    def pattern(self) -> str:
        """A pattern for Postgres that finds the codes, and not a longer number that holds one."""
        return "|".join(_pattern(code) for code in sorted(self.classes))

    def reading(self, row: Row) -> Row | None:
        """Return a bounce as it would be read; None where nothing is otherwise."""
        # Of two codes in one reason the first that the rule names decides.
        code = next(code for code in self.classes if re.search(_pattern(code), str(row["reason"])))
        bounce_class = self.classes[code]
        if row["bounce_class"] == bounce_class:
            return None
        return {**row, "bounce_class": str(bounce_class), "effect": effect_of(EventType.BOUNCED, bounce_class)}


def refold(context: OperateContext, arguments: Arguments) -> dict[str, Any]:
    """Return which addresses of one page would be stopped or released; nothing of it is kept."""
    rule, after = Rule.read(arguments), read_cursor(arguments)
    most = arguments.number("most", PAGE_ADDRESSES, most=LARGEST_PAGE)
    with context.database.transaction() as tx:
        tx.execute(FORCE_CUSTOM_PLAN)
        page = read(
            tx,
            "refold_page",
            {
                **cursor_parameters(after),
                "soft": rule.soft_limit is not None,
                "pattern": rule.pattern,
                "most": most,
            },
        )
    addresses = dumps(sorted(row["address"] for row in page))
    today = retry_on_lock(lambda: _fold_under(context, Rule(soft_limit=None, classes={}), addresses))
    then = retry_on_lock(lambda: _fold_under(context, rule, addresses))
    last = page[-1] if len(page) == most else None
    return {
        "addresses": len(page),
        "bounces": then["bounces"],
        "suppressed": [pair for pair in then["suppressed"] if pair not in today["suppressed"]],
        "lifted": [pair for pair in today["suppressed"] if pair not in then["suppressed"]],
        "next": last and {"received_at": last["received_at"], "event_id": last["event_id"]},
    }


def _fold_under(context: OperateContext, rule: Rule, addresses: str) -> dict[str, Any]:
    """Return who is stopped under a rule, the next sweep included; the transaction is undone."""
    answer: dict[str, Any] = {}
    with contextlib.suppress(Undone), context.database.transaction() as tx:
        tx.execute(f"{GIVE_WAY}; {FORCE_CUSTOM_PLAN}")
        answer["bounces"] = _reclass(tx, rule, addresses)
        limit = rule.soft_limit or context.soft_limit
        tx.run("sweep", {"soft_limit": limit, "publish": False, "addresses": addresses})
        answer["suppressed"] = read(tx, "refold_suppressed", {"addresses": addresses})
        raise Undone
    return answer


def _reclass(tx: Transaction, rule: Rule, addresses: str) -> int:
    if not rule.classes:
        return 0
    rows = read(tx, "refold_events", {"addresses": addresses, "pattern": rule.pattern})
    readings = [reading for row in rows if (reading := rule.reading(row)) is not None]
    return len(write_readings(tx, readings, publish=False).changes)


def _classes(value: Any) -> dict[str, BounceClass]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise CommandRefused("classes must be an object of codes and classes")
    for code, name in value.items():
        if not _CODE.fullmatch(code) or name not in CLASSES:
            raise CommandRefused("a class is named like 5.2.2=soft; the classes are hard and soft")
    return {code: CLASSES[name] for code, name in value.items()}


def _pattern(code: str) -> str:
    # Postgres and Python read this alike.
    return rf"(?<![0-9.]){re.escape(code)}(?!\.?[0-9])"
