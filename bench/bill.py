"""What a month costs: arithmetic over measured quantities and listed prices, and nothing measured here."""

import math
from dataclasses import dataclass

from bench.prices import Prices

MONTH_S = 30 * 24 * 3600
MILLION = 1_000_000
#: https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
MB_PER_VCPU = 1_769
API_TIER = 300 * MILLION
API_INCREMENT = 512 * 1024
SQS_CHUNK = 64 * 1024
#: Records that one call to SQS receives or deletes.
SQS_CALL = 10
#: An event source mapping starts with this many pollers, and each waits this long for the first record:
#: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
POLLERS = 5
POLL_S = 20
#: What Lambda hands over at once.
BATCH_BYTES = 6 * MILLION
#: Powertools writes a claim twice: in progress, then with the answer.
WRITES_PER_KEY = 2
#: A function keeps the secret for five minutes.
SECRET_READS = MONTH_S / 300


@dataclass(frozen=True, kw_only=True)
class Load:
    """What comes in, in a month, evenly spread over it."""

    events: float
    events_per_request: int

    @property
    def requests(self) -> float:
        """Requests in a month."""
        return self.events / self.events_per_request


@dataclass(frozen=True, kw_only=True)
class Knobs:
    """What the stack is deployed with."""

    receive_mb: int
    process_mb: int
    batch_size: int
    batch_window_s: float


@dataclass(frozen=True, kw_only=True)
class PerRequest:
    """What one request is, and what receive does with it."""

    body_bytes: int
    record_bytes: tuple[int, ...]
    #: Processor time on a whole core.
    cpu_s: float
    #: Time in which the function only waits.
    wait_s: float
    #: Bytes of log lines, those of API Gateway and of Lambda itself included.
    log_bytes: float


@dataclass(frozen=True, kw_only=True)
class PerBatch:
    """What process does with one batch of records."""

    cpu_s: float
    wait_s: float
    log_bytes: float


def records_per_batch(load: Load, request: PerRequest, knobs: Knobs) -> float:
    """Return what a poller gathers in its window when records come evenly and each poller takes its share."""
    per_second = load.requests * len(request.record_bytes) / MONTH_S
    gathered = per_second * knobs.batch_window_s / POLLERS
    fitting = BATCH_BYTES // max(request.record_bytes)
    return min(max(1.0, gathered), knobs.batch_size, fitting)


def billed_s(cpu_s: float, wait_s: float, memory_mb: int) -> float:
    """Return the seconds that Lambda bills: work takes longer on a part of a core, waiting does not."""
    share = min(1.0, memory_mb / MB_PER_VCPU)
    return math.ceil((cpu_s / share + wait_s) * 1000) / 1000


def function_dollars(prices: Prices, *, cpu_s: float, wait_s: float, memory_mb: int) -> float:
    """Return what one invocation costs."""
    return prices.lambda_request + billed_s(cpu_s, wait_s, memory_mb) * memory_mb / 1024 * prices.lambda_gb_second


def api_dollars(prices: Prices, requests: float) -> float:
    """Return what API Gateway takes for this many metered requests."""
    return min(requests, API_TIER) * prices.api_request + max(0.0, requests - API_TIER) * prices.api_request_beyond


def sqs_calls(request: PerRequest, batch: float) -> float:
    """Return the billed calls to SQS for one request: its sends, and its share of receives and deletes."""
    records = request.record_bytes
    sends = sum(_chunks(sum(records[start : start + SQS_CALL])) for start in range(0, len(records), SQS_CALL))
    per_call = min(batch, SQS_CALL)
    mean_bytes = sum(records) / len(records)
    receives = len(records) / per_call * _chunks(per_call * mean_bytes)
    return sends + receives + len(records) / per_call


def _chunks(size: float) -> int:
    return max(1, math.ceil(size / SQS_CHUNK))


def monthly(prices: Prices, load: Load, request: PerRequest, batch: PerBatch, knobs: Knobs) -> dict[str, float]:
    """Return the dollars of a month by part, the database apart; what is there without any event is `standing`."""
    size = records_per_batch(load, request, knobs)
    batches = load.requests * len(request.record_bytes) / size
    receive = function_dollars(prices, cpu_s=request.cpu_s, wait_s=request.wait_s, memory_mb=knobs.receive_mb)
    process = function_dollars(prices, cpu_s=batch.cpu_s, wait_s=batch.wait_s, memory_mb=knobs.process_mb)
    log_bytes = load.requests * request.log_bytes + batches * batch.log_bytes
    return {
        "API Gateway": api_dollars(prices, load.requests * math.ceil(request.body_bytes / API_INCREMENT)),
        "receive": load.requests * receive,
        "SQS": load.requests * sqs_calls(request, size) * prices.sqs_request,
        "process": batches * process,
        "logs": log_bytes / 1e9 * prices.log_gb,
    }


def standing(prices: Prices, *, metrics: int) -> float:
    """Return the dollars of a month without an event: metrics, the secret, and pollers that find nothing."""
    polls = POLLERS * MONTH_S / POLL_S * prices.sqs_request
    return metrics * prices.metric_month + prices.secret_month + SECRET_READS * prices.secret_read + polls


def keyed(prices: Prices, load: Load) -> float:
    """Return what the table of keys adds in a month when every request carries one."""
    return load.requests * WRITES_PER_KEY * prices.dynamodb_write


def database(prices: Prices, *, instance: str, stored_bytes: float, least_gb: int) -> tuple[float, float]:
    """Return the dollars of a month for the instance and for its storage."""
    hours = MONTH_S / 3600
    return hours * prices.rds_hour[instance], max(least_gb, stored_bytes / 1e9) * prices.rds_storage_gb_month
