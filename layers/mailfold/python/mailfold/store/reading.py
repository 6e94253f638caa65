"""Look-ups that change nothing: what the command line and the query API show."""

from collections.abc import Mapping
from typing import Any

from mailfold.store.connection import Parameter, Transaction


def read(tx: Transaction, name: str, parameters: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    """Run a statement whose one column is JSON, and return its rows as they can be shown."""
    return [row[0] for row in tx.run(name, parameters)]
