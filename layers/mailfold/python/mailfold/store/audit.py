"""The lines of the audit log: who ordered what. No address stands in them, but its erased form."""

import re
from typing import Any

from mailfold.events import plain_id
from mailfold.jsontext import dumps
from mailfold.redaction import Redaction
from mailfold.store.connection import Transaction

_OF_AN_ADDRESS = r"""[^\s<>,;:"'/()\[\]]"""
#: Whatever may be an address. What is none only loses its plain text. Searched for where such a run of characters
#: begins and nowhere within it, which would find nothing else.
_ADDRESS = re.compile(f"(?<!{_OF_AN_ADDRESS}){_OF_AN_ADDRESS}+@{_OF_AN_ADDRESS}+")


def note(tx: Transaction, *, by: str, action: str, address: str = "", **details: Any) -> None:
    """Write down what this transaction does, for whom and to which address."""
    parameters = {"by_whom": by, "action": action, "address": address, "details": dumps(_erased(tx, address, details))}
    tx.run("audit", parameters)


def _erased(tx: Transaction, address: str, details: dict[str, Any]) -> dict[str, Any]:
    """Return the details without addresses, such as one in the name of a scope."""
    texts = [text for value in details.values() for text in (value if isinstance(value, list) else [value])]
    needs_sanitising = [text for text in texts if isinstance(text, str) and plain_id(text) != text]
    if not needs_sanitising:
        return details
    others = sorted({found.lower() for text in needs_sanitising for found in _ADDRESS.findall(text)} - {address})
    [[forms]] = tx.run("erase_forms", {"addresses": dumps([address, *others])})
    known = dict(zip([address, *others], forms, strict=True))
    redaction = Redaction(address, known[address]) if address else None

    def erased(value: Any) -> Any:
        if isinstance(value, list):
            return [erased(one) for one in value]
        if not isinstance(value, str):
            return value
        text = redaction.redact_id(value, owner=address) if redaction else value
        return _ADDRESS.sub(lambda found: known[found.group().lower()], text)

    return {name: erased(value) for name, value in details.items()}
