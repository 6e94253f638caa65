"""What can be chosen about a local stack, all of it by environment variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cli.local_stack import state_folder
from local.errors import LocalError

ROOT = Path(__file__).resolve().parent.parent
PORT_VARIABLE = "MAILFOLD_PORT"
PG_PORT_VARIABLE = "MAILFOLD_PG_PORT"
PUBLISH_VARIABLE = "MAILFOLD_PUBLISH"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Where one local stack listens and keeps its state, and what of it is switched on."""

    #: The port of the emulated AWS, the webhooks included.
    port: int
    pg_port: int
    state: Path
    #: Whether it publishes changes, whatever cdk.json says; None leaves it to cdk.json.
    publish: bool | None = None


def read_options(environment: Mapping[str, str] = os.environ) -> Options:
    """Read the choices, or take the defaults."""
    return Options(
        port=_port(environment, PORT_VARIABLE, 4566),
        pg_port=_port(environment, PG_PORT_VARIABLE, 54329),
        state=state_folder(environment),
        publish=_switch(environment, PUBLISH_VARIABLE),
    )


def _port(environment: Mapping[str, str], variable: str, default: int) -> int:
    text = environment.get(variable, str(default))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise LocalError(f"{variable} must be a port from 1 to 65535, not {text!r}.")
    return int(text)


def _switch(environment: Mapping[str, str], variable: str) -> bool | None:
    text = environment.get(variable, "")
    if text not in {"", "0", "1"}:
        raise LocalError(f"{variable} must be 1 or 0, not {text!r}.")
    return text == "1" if text else None
