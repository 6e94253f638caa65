"""`make prove ONLY=histories`: the long form of the properties, counted, with a seed that brings a failure back."""

import argparse
import contextlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from cli.progress import Progress
from local.postgres import PostgresServer
from mailfold.store.connection import Database
from mailfold.store.migrate import apply_migrations
from tests.property import properties
from tests.property.contention import report
from tests.property.flawed import FLAWS
from tests.property.histories import facts, histories
from tests.property.pipeline import Pipeline, marks

MARKS = marks()
#: After this many histories the tables are emptied, so that looking for one history's rows stays quick.
TIDY_AFTER = 250
ORDERS = {2: 2, 3: 6, 4: 24}


def main() -> None:
    """Run every property as often as asked and print what was seen."""
    parser = argparse.ArgumentParser(prog="make prove ONLY=histories", description=__doc__)
    parser.add_argument("--deliveries", type=int, default=16_000, help="histories of one worker that never dies")
    parser.add_argument("--permuted", type=int, default=250, help="small sets of which every order is tried")
    parser.add_argument("--crashes", type=int, default=2_500, help="histories in which a worker dies")
    parser.add_argument("--concurrent", type=int, default=800, help="histories of two to eight workers at once")
    parser.add_argument("--contention", type=int, default=60, help="seconds of eight workers on overlapping batches")
    parser.add_argument("--seed", type=int, default=20261118)
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    began = time.monotonic()
    with _pipeline() as pipeline:
        _repeat("any_delivery", histories(largest=12), arguments.deliveries, arguments.seed, pipeline, seen)
        small = st.lists(facts, min_size=2, max_size=4).map(tuple)
        _repeat("every_permutation", small, arguments.permuted, arguments.seed, pipeline, seen)
        _repeat("any_crash", histories(), arguments.crashes, arguments.seed, pipeline, seen)
        _repeat("any_concurrency", histories(), arguments.concurrent, arguments.seed, pipeline, seen)
        report(pipeline, seconds=arguments.contention, say=print)
    _report(seen, arguments.seed, time.monotonic() - began)


def _repeat(
    name: str, strategy: st.SearchStrategy[Any], examples: int, start: int, pipeline: Pipeline, seen: Counter[str]
) -> None:
    prove = getattr(properties, name)
    progress = Progress(name, examples)

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(drawn=strategy, number=st.integers(0, 2**32))
    def run(drawn: Any, number: int) -> None:
        prove(pipeline, drawn, next(MARKS), Random(number))
        seen[name] += ORDERS.get(len(drawn), 1) if name == "every_permutation" else 1
        progress.advance()
        seen["since tidied"] += 1
        if seen["since tidied"] >= TIDY_AFTER:
            pipeline.tidy()
            seen["since tidied"] = 0

    run()
    pipeline.tidy()
    del seen["since tidied"]


@contextlib.contextmanager
def _pipeline() -> Iterator[Pipeline]:
    with tempfile.TemporaryDirectory() as scratch, PostgresServer(Path(scratch) / "postgres") as server:
        owner = Database(server.url())
        apply_migrations(owner)
        owner.execute("alter role mailfold_process set synchronous_commit = off")
        owner.close()
        pipeline = Pipeline(server.url(user="mailfold_process"), server.url())
        yield pipeline
        pipeline.close()


def _report(seen: Counter[str], start: int, elapsed_s: float) -> None:
    hostile = seen["any_crash"] + seen["any_concurrency"]
    total = sum(seen.values())
    print(f"\nproven on {total} histories, {hostile} of them with crashes or concurrency, in {elapsed_s:.0f} s")
    for name, count in seen.items():
        print(f"  {name:<20}{count:>8}")
    print(f"  seed {start}; {len(FLAWS) + 1} flawed processors are caught by make property")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
