"""Move the functions' output from the emulator's CloudWatch Logs into plain files."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError

from cli.local_aws import client

#: The most that one call returns.
PAGE = 10_000


class FunctionLogs:
    """One file per step; what has been written to it is deleted from the emulator, whose memory it would fill."""

    def __init__(self, endpoint: str, folder: Path, groups: Mapping[str, str]) -> None:
        self._logs = client("logs", endpoint)
        self._folder = folder
        self._groups = groups

    def move(self) -> None:
        """Append all that was logged since the last call; an emulator that is gone has logged nothing more."""
        with contextlib.suppress(BotoCoreError):
            for step, group in self._groups.items():
                self._move(step, group)

    def _move(self, step: str, group: str) -> None:
        streams = self._streams(group)
        if streams:
            with (self._folder / f"{step}.log").open("a") as file:
                file.writelines(f"{line}\n" for lines in streams.values() for line in lines)
        for name in streams:
            self._logs.delete_log_stream(logGroupName=group, logStreamName=name)

    def _streams(self, group: str) -> dict[str, list[str]]:
        # The emulator writes one stream per invocation, all its lines at once: a stream that is seen is complete.
        streams: dict[str, list[str]] = {}
        # An emulator that is just being killed may answer with nothing at all.
        events: list[dict[str, Any]] = self._logs.filter_log_events(logGroupName=group, limit=PAGE).get("events", [])
        for event in events:
            streams.setdefault(event["logStreamName"], []).append(event["message"].rstrip("\n"))
        if len(events) == PAGE and len(streams) > 1:
            del streams[events[-1]["logStreamName"]]
        return streams
