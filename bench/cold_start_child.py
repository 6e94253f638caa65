"""What a fresh interpreter of the cold-start benchmark runs: one import and one invocation, measured from inside."""

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

given = json.load(sys.stdin)
sys.path[:0] = given["path"]
os.environ.clear()
os.environ.update(given["environment"])
context = SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000)

began_at = time.perf_counter()
if given["event"] is None:
    import boto3

    boto3.client("sqs")
    imported_at = answered_at = time.perf_counter()
else:
    import handler  # type: ignore[import-not-found]  # one of functions/, by way of the path above

    imported_at = time.perf_counter()
    answer = handler.handler(given["event"], context)
    answered_at = time.perf_counter()
    assert answer.get("statusCode", 200) == 200, answer
    assert not answer.get("batchItemFailures"), answer

# Not ru_maxrss, which a child takes over from the process that forked it.
peak_kb = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
measured = {
    "import_s": imported_at - began_at,
    "invoke_s": answered_at - imported_at,
    "memory_mb": peak_kb / 1024,
}
print("\n" + json.dumps(measured))
