"""operate: one order of a person, carried out on the database in the person's name."""

from collections.abc import Callable, Mapping
from typing import Any

from mailfold.errors import Declined, StoreError, TransientStoreError
from mailfold.steps.operate import messages, tokens
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.office import Office

Command = Callable[[Office, Arguments], dict[str, Any]]

#: What can be ordered. A long piece of work is ordered page by page: each answer says where the next one begins.
COMMANDS: dict[str, Command] = {
    "message.show": messages.show_message,
    "recipient.show": messages.show_recipient,
    "totals": messages.totals,
    "tokens.list": tokens.list_tokens,
    "tokens.add": tokens.add_token,
    "tokens.revoke": tokens.revoke_token,
}


def operate(order: Mapping[str, Any], office: Office) -> dict[str, Any]:
    """Carry out one order; a mistake in it, or a database that is away, is an answer and not a failure."""
    try:
        result = _command(order)(office, Arguments(order.get("arguments") or {}))
    except (Declined, StoreError) as refusal:
        office.telemetry.count("OrdersDeclined")
        office.telemetry.warn("declined", reason=type(refusal).__name__)
        return {"ok": False, "error": str(refusal), "again": isinstance(refusal, TransientStoreError)}
    office.telemetry.count("OrdersDone")
    office.telemetry.say("done", command=str(order["command"]))
    return {"ok": True, "result": result}


def _command(order: Mapping[str, Any]) -> Command:
    name = order.get("command")
    if not isinstance(name, str) or name not in COMMANDS:
        raise Declined(f"no such command: {name!r}")
    return COMMANDS[name]
