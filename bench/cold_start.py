"""Cold start: what each function takes from its first import to its first answer, against `boto3.client("sqs")` alone.

Every sample is a fresh interpreter that sees only the function's own folder, the layers and the packages that Lambda's
runtime brings, with byte code unless the figure says otherwise. It measures itself, so that no figure holds the
start of the interpreter.
"""

import compileall
import importlib.util
import json
import py_compile
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.aws_stub import aws_stub
from bench.figures import Section
from bench.lab import Lab
from bench.progress import Ticker
from bench.traffic import SOURCES, Traffic, envelopes
from infra.dependencies import ROOT, build_dependencies
from local.testing.events import gateway_event, sqs_event
from local.testing.handlers import COMMON
from samples import Keys, sendgrid

ROUNDS = 9
BASE = 'boto3.client("sqs")'
REQUIRED = {"receive": 0.8, "process": 1.0}
KINDS = {True: "compiled", False: "plain"}
#: What the Python runtime of Lambda has on board: https://docs.aws.amazon.com/lambda/latest/dg/lambda-python.html
RUNTIME = ("boto3", "botocore", "s3transfer", "urllib3")
PROGRAM = Path(__file__).with_name("cold_start_child.py").read_text()


@dataclass(frozen=True, kw_only=True)
class Way:
    """One kind of start: a function with its environment and its event, or the bare client."""

    function: str | None = None
    environment: Mapping[str, str]
    compiled: bool = True
    #: Made again for each start, so that process never meets what it has folded already.
    event: Callable[[], Mapping[str, Any]] = dict


@dataclass(frozen=True, kw_only=True)
class Start:
    """What one fresh interpreter measured of itself."""

    import_s: float
    invoke_s: float
    memory_mb: float

    @property
    def total_s(self) -> float:
        """Until the first answer."""
        return self.import_s + self.invoke_s


def measure(lab: Lab, ticker: Ticker) -> Section:
    """Start everything in turns."""
    keys = sendgrid.make_keys()
    database = lab.database()
    ticker.tick("byte code")
    with tempfile.TemporaryDirectory() as scratch, aws_stub(json.dumps({"sendgrid": [keys.secret]})) as endpoint:
        assets = _unpack(Path(scratch))
        ways = _ways(lab, database, endpoint, keys)
        starts: dict[str, list[Start]] = {name: [] for name in ways}
        for turn in range(ROUNDS + 1):
            for name in list(ways) if turn % 2 else list(reversed(ways)):
                start = _start(ways[name], assets)
                if turn:
                    starts[name].append(start)
            ticker.tick(f"round {turn} of {ROUNDS}")
    lab.drop(database)
    return _section(starts)


def _section(starts: Mapping[str, list[Start]]) -> Section:
    section = Section(name="cold start")
    base = starts[BASE]
    for name, samples in starts.items():
        if name != BASE:
            shares = [one.total_s / bare.total_s for one, bare in zip(samples, base, strict=True)]
            must = ("<=", REQUIRED[name]) if name in REQUIRED else None
            section.add(f"{name} over {BASE}", shares, must=must)
    for name, samples in starts.items():
        section.add(f"{name}: import", [one.import_s * 1000 for one in samples], unit="ms")
        if name != BASE:
            section.add(f"{name}: first invoke", [one.invoke_s * 1000 for one in samples], unit="ms")
        section.add(f"{name}: memory", [one.memory_mb for one in samples], unit="MB")
    section.notes += [
        f"import + first invoke of a fresh interpreter over import boto3 and {BASE} of another, in turns",
        "receive: one signed SendGrid request, AWS as a stub on loopback without TLS; the others: the real database",
        "boto3 has byte code throughout, as in Lambda; the layers are deployed without any (docs/decisions/0033)",
    ]
    return section


def _ways(lab: Lab, database: str, endpoint: str, keys: Keys) -> dict[str, Way]:
    traffic = Traffic(seed=60)
    receive = {"SOURCES": SOURCES, "SECRET_ID": "s", "QUEUE_URL": "q", "CLAIM_TABLE": "t", "MAX_BODY_BYTES": "999999"}  # nosec B105 - names and sizes
    process = {"SOURCES": SOURCES, "TOPICS": "{}", "PUBLISH": "false"}

    def on_database(function: str, role: str, options: str = "", **environment: str) -> Way:
        url = lab.url(database, role) + options
        return Way(function=function, environment={**environment, "DATABASE_URL": url})

    def folding(way: Way) -> Way:
        return replace(way, event=lambda: sqs_event(envelopes(traffic.events(1))))

    receiving = Way(
        function="receive",
        environment={**receive, "AWS_ENDPOINT_URL": endpoint},
        event=lambda: _request(traffic, keys),
    )
    processing = folding(on_database("process", "mailfold_process", **process))
    return {
        BASE: Way(environment={}),
        "receive": receiving,
        "process": processing,
        "prune": on_database("prune", "mailfold_prune", RETENTION="{}"),
        "sweep": on_database("sweep", "mailfold_sweep", SOFT_LIMIT="5", PUBLISH="false"),
        "migrate": on_database("migrate", "postgres"),
        "process with a token for RDS": folding(on_database("process", "mailfold_process", "&auth=iam", **process)),
        "receive without byte code": replace(receiving, compiled=False),
        "process without byte code": replace(processing, compiled=False),
    }


def _request(traffic: Traffic, keys: Keys) -> Mapping[str, Any]:
    body = sendgrid.body(traffic.events(1))
    return gateway_event("sendgrid", body, sendgrid.sign(body, keys, datetime.now(UTC)))


def _unpack(scratch: Path) -> Path:
    """Copy what a function is made of, as Lambda unpacks it: ours with byte code and without, the runtime's with."""
    junk = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
    dependencies = build_dependencies(platform=None, python_version=None) / "python"
    for kind in KINDS.values():
        shutil.copytree(ROOT / "functions", scratch / kind / "functions", ignore=junk)
        shutil.copytree(ROOT / "layers/mailfold/python", scratch / kind / "mailfold", ignore=junk)
        shutil.copytree(dependencies, scratch / kind / "dependencies", ignore=junk)
    for name in RUNTIME:
        spec = importlib.util.find_spec(name)
        assert spec
        assert spec.origin
        shutil.copytree(Path(spec.origin).parent, scratch / "runtime" / name, ignore=junk)
    for folder in (KINDS[True], "runtime"):
        # Unchecked, as in a zip: unpacking gives every file a new time, and byte code of another time is not used.
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        compileall.compile_dir(scratch / folder, quiet=2, workers=0, invalidation_mode=unchecked)
    return scratch


def _start(way: Way, assets: Path) -> Start:
    ours = assets / KINDS[way.compiled]
    layers = [ours / "mailfold", ours / "dependencies", assets / "runtime"]
    here = [ours / "functions" / way.function] if way.function else []
    given = {
        "path": [str(folder) for folder in (*here, *layers)],
        "environment": {**COMMON, "AWS_REGION": "eu-west-1", **way.environment},
        "event": way.event() if way.function else None,
    }
    command = [sys.executable, "-I", "-S", "-B", "-c", PROGRAM]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{way.function or BASE} did not start:\n{done.stderr}")
    return Start(**json.loads(done.stdout.splitlines()[-1]))
