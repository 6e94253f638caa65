"""operate: one order of a person, carried out on the database in the person's name."""

from collections.abc import Callable, Mapping
from typing import Any

from mailfold.errors import CommandRefused, StoreError, TransientStoreError
from mailfold.steps.operate import (
    dead_letters,
    doctor,
    erase,
    erase_proof,
    explain,
    imports,
    messages,
    prune,
    refold,
    replay,
    suppressions,
    tokens,
)
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext

Command = Callable[[OperateContext, Arguments], dict[str, Any]]

#: What can be ordered. A long piece of work is ordered page by page: each answer says where the next one begins.
COMMANDS: dict[str, Command] = {
    "message.show": messages.show_message,
    "recipient.show": messages.show_recipient,
    "totals": messages.totals,
    "sources": doctor.show_sources,
    "doctor.store": doctor.show_store,
    "doctor.probe.find": doctor.find_probes,
    "doctor.probe.remove": doctor.remove_probes,
    "dead-letters.groups": dead_letters.groups,
    "dead-letters.list": dead_letters.list_dead_letters,
    "dead-letters.show": dead_letters.show,
    "dead-letters.redrive": dead_letters.redrive_dead_letters,
    "dead-letters.try": dead_letters.try_records,
    "replay": replay.replay,
    "refold": refold.refold,
    "prune.count": prune.count,
    "suppressions.list": suppressions.list_suppressions,
    "suppressions.add": suppressions.add_suppression,
    "suppressions.lift": suppressions.lift_suppression,
    "suppressions.explain": explain.explain,
    "suppressions.import": imports.import_suppressions,
    "suppressions.export": suppressions.export_suppressions,
    "erase": erase.erase,
    "erase.verify": erase_proof.verify,
    "tokens.list": tokens.list_tokens,
    "tokens.add": tokens.add_token,
    "tokens.revoke": tokens.revoke_token,
}


def operate(order: Mapping[str, Any], context: OperateContext) -> dict[str, Any]:
    """Carry out one order; a mistake in it, or a database that is away, is an answer and not a failure."""
    try:
        result = _command(order)(context, Arguments(order.get("arguments") or {}))
    except (CommandRefused, StoreError) as refusal:
        context.telemetry.count("CommandsRefused")
        context.telemetry.warn("declined", reason=type(refusal).__name__)
        return {"ok": False, "error": str(refusal), "again": isinstance(refusal, TransientStoreError)}
    context.telemetry.count("CommandsDone")
    context.telemetry.say("done", command=str(order["command"]))
    return {"ok": True, "result": result}


def _command(order: Mapping[str, Any]) -> Command:
    name = order.get("command")
    if not isinstance(name, str) or name not in COMMANDS:
        raise CommandRefused(f"no such command: {name!r}")
    return COMMANDS[name]
