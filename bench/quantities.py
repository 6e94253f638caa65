"""What one request and one batch take, counted and measured on the real handlers."""

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter, thread_time
from typing import Any

from bench.bill import Knobs, PerBatch, PerRequest
from bench.door import accepted, receive_alone, signed_requests
from bench.lab import Function, Lab, process_function, taken
from bench.traffic import SOURCES, Traffic, envelopes
from infra.settings import CONTEXT_KEY, Settings
from local.options import ROOT
from local.testing.events import sqs_event
from samples import sendgrid

ROUNDS = 15
WARM_UP = 3
STORED = 5_000
#: Waits that this machine does not have. SendMessageBatch within a region, and the database a network away.
SQS_WAIT_S = 0.010
ROUND_TRIPS = 7
ROUND_TRIP_S = 0.001
#: CloudWatch Logs adds this to each line: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
LINE_BYTES = 26
#: What Lambda writes itself about each invocation.
PLATFORM_LINES = (
    "START RequestId: 8f5e1c2a-7d0b-4c3e-9a6f-0123456789ab Version: $LATEST\n",
    "END RequestId: 8f5e1c2a-7d0b-4c3e-9a6f-0123456789ab\n",
    (
        "REPORT RequestId: 8f5e1c2a-7d0b-4c3e-9a6f-0123456789ab\tDuration: 21.37 ms\tBilled Duration: 22 ms\t"
        "Memory Size: 512 MB\tMax Memory Used: 112 MB\t\n"
    ),
)
#: As long as real ones; the format itself is read from infra/receive.py.
ACCESS_VALUES = {
    "requestId": "JKJaXmPLvHcESHA=",
    "requestTime": "18/Nov/2026:12:00:00 +0000",
    "httpMethod": "POST",
    "routeKey": "ANY /webhooks/{source}",
    "status": "200",
    "responseLength": "13",
    "identity.sourceIp": "203.0.113.117",
    "responseLatency": "31",
    "integrationStatus": "200",
    "integrationErrorMessage": "-",
}


@dataclass(frozen=True, kw_only=True)
class _Weight:
    """What one invocation took."""

    cpu_s: float
    wait_s: float
    log_bytes: int


def billed_bytes(lines: list[str]) -> int:
    """Return what CloudWatch Logs takes for these lines."""
    return sum(len(line.encode()) + LINE_BYTES for line in lines)


def metrics_of(line: str) -> set[tuple[str, ...]]:
    """Return the paid metrics of a line: each name with each set of dimension values."""
    blob: dict[str, Any] = json.loads(line)
    return {
        (metric["Name"], *(str(blob[dimension]) for dimension in dimensions))
        for directive in blob.get("_aws", {}).get("CloudWatchMetrics", ())
        for metric in directive["Metrics"]
        for dimensions in directive["Dimensions"]
    }


def deployed_knobs() -> Knobs:
    """Read what cdk.json and infra/ deploy; the sources are read as text, for loading the CDK takes seconds."""
    settings = Settings.from_context(json.loads((ROOT / "cdk.json").read_text())["context"][CONTEXT_KEY])
    return Knobs(
        receive_mb=_memory_mb("receive"),
        process_mb=_memory_mb("process"),
        batch_size=settings.batch_size,
        batch_window_s=settings.batch_window_seconds,
    )


def _memory_mb(step: str) -> int:
    [found] = re.findall(r"memory_mb=(\d+)", (ROOT / "infra" / f"{step}.py").read_text())
    return int(found)


def access_line() -> str:
    """Return one line of API Gateway's access log."""
    for node in ast.parse((ROOT / "infra" / "receive.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ACCESS_LOG_FORMAT":
            assert isinstance(node.value, ast.Call)
            line = json.dumps(ast.literal_eval(node.value.args[0]))
            return re.sub(r"\$context\.([A-Za-z.]+)", lambda match: ACCESS_VALUES[match[1]], line)
    raise RuntimeError("infra/receive.py has no ACCESS_LOG_FORMAT")


class Scales:
    """The handlers on a database of their own, ready to be weighed."""

    def __init__(self, lab: Lab) -> None:
        self._name = lab.database()
        self._owner = lab.owner(self._name)
        self._process = process_function(lab.url(self._name, "mailfold_process"), sources=SOURCES)
        self._traffic = Traffic(seed=3)
        self._keys = sendgrid.make_keys()
        self.metrics: set[tuple[str, ...]] = set()

    def close(self) -> None:
        """Let go of the connections."""
        self._process.close()
        self._owner.close()

    def request(self, events: int) -> PerRequest:
        """Weigh receive, with its real client of AWS, on requests of this many events."""
        requests = signed_requests(self._traffic, self._keys, events=events, number=ROUNDS + WARM_UP)
        with receive_alone(self._keys) as receive:
            weights = [self._weigh(receive, partial(accepted, receive, request)) for request in requests][WARM_UP:]
        return PerRequest(
            body_bytes=len(requests[0].body),
            record_bytes=tuple(len(text) for text in envelopes(self._traffic.events(events))),
            cpu_s=median(weight.cpu_s for weight in weights),
            wait_s=SQS_WAIT_S,
            log_bytes=median(weight.log_bytes for weight in weights) + billed_bytes([access_line()]),
        )

    def batch(self, *, records: int, events: int) -> PerBatch:
        """Weigh process on batches of this many requests with this many events each."""
        weights = [
            self._weigh(self._process, partial(taken, self._process, sqs_event(self._records(records, events))))
            for _ in range(ROUNDS + WARM_UP)
        ][WARM_UP:]
        return PerBatch(
            cpu_s=median(weight.cpu_s for weight in weights),
            wait_s=median(weight.wait_s for weight in weights) + ROUND_TRIPS * ROUND_TRIP_S,
            log_bytes=median(weight.log_bytes for weight in weights),
        )

    def _records(self, requests: int, events: int) -> list[str]:
        return [text for _ in range(requests) for text in envelopes(self._traffic.events(events))]

    def _weigh(self, function: Function, work: Callable[[], None]) -> _Weight:
        # The thread's own time leaves out the pretended AWS, which answers in another thread.
        cpu_s, wall_s = thread_time(), perf_counter()
        work()
        cpu_s, wall_s = thread_time() - cpu_s, perf_counter() - wall_s
        lines = function.printed.splitlines(keepends=True)
        for line in lines:
            self.metrics |= metrics_of(line)
        return _Weight(cpu_s=cpu_s, wait_s=wall_s - cpu_s, log_bytes=billed_bytes([*lines, *PLATFORM_LINES]))

    def stored_bytes(self, events_per_request: int) -> dict[str, float]:
        """Return what an event takes in each table, its indexes included, when prune has nothing to do yet."""
        before = self._sizes()
        for _ in range(STORED // 500):
            taken(self._process, sqs_event(self._records(500 // events_per_request, events_per_request)))
        return {table: (size - before[table]) / STORED for table, size in self._sizes().items()}

    def _sizes(self) -> dict[str, float]:
        rows = self._owner.execute("select relname, pg_total_relation_size(relid) from pg_stat_user_tables")
        return {str(table): float(size) for table, size in rows}
