"""Load a function's real handler the way Lambda does: its environment first, then a fresh module."""

import importlib.util
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

FUNCTIONS = Path(__file__).parents[2] / "functions"
COMMON = {
    "POWERTOOLS_METRICS_NAMESPACE": "Mailfold",
    "POWERTOOLS_LOG_LEVEL": "INFO",
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",  # nosec B105 - the emulator takes any
}


class Context:
    """As much of a Lambda context as the handlers ask for."""

    def __init__(self, remaining_ms: int = 60_000) -> None:
        self._remaining_ms = remaining_ms

    def get_remaining_time_in_millis(self) -> int:
        """Return how long the invocation may still take."""
        return self._remaining_ms


def load_handler(step: str, monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> ModuleType:
    """Return functions/<step>/handler.py, loaded under this environment."""
    for name, value in {**COMMON, "POWERTOOLS_SERVICE_NAME": step, **environment}.items():
        monkeypatch.setenv(name, value)
    spec = importlib.util.spec_from_file_location(f"handler_of_{step}", FUNCTIONS / step / "handler.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    show_log(step)
    return module


class _Stdout:
    """Whatever stdout is when something is written; Powertools keeps the one of the test that made the logger."""

    def write(self, text: str) -> None:
        sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()


def show_log(step: str) -> None:
    """Let a step's lines go where the test that runs now can see them."""
    for handler in logging.getLogger(step).handlers:
        if isinstance(handler, logging.StreamHandler):
            # setStream() would first flush the old stream, which is closed.
            handler.stream = _Stdout()
