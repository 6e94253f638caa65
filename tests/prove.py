"""`make prove`: the long proofs, one after the other; ONLY=kills for one of them, PROVE="..." for its options."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from tests.e2e.support import LocalRun

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, kw_only=True)
class Part:
    """One proof: a program that exits with 0 only when nothing is wrong."""

    module: str
    what: str
    #: Whether it needs a running local stack.
    on_a_stack: bool = False


PARTS = {
    "histories": Part(
        module="tests.property.prove", what="random histories in every order, with crashes and many workers"
    ),
    "kills": Part(module="tests.chaos.load", what="200,000 events while workers are killed and Postgres is stopped"),
    "redrive": Part(
        module="local.redrive_drill",
        what="10,000 dead letters of a broken adapter are redriven under live traffic",
        on_a_stack=True,
    ),
    "prune": Part(module="tests.chaos.prune", what="a million rows are pruned while events come in, killed in between"),
    "publish": Part(module="tests.chaos.publish", what="publish is killed 50 times while batches commit and roll back"),
}


def main(argv: Sequence[str]) -> int:
    """Run what is asked for, whatever becomes of the parts before, and return 1 if any of them failed."""
    listed = "\n".join(f"  {name:<11}{part.what}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="make prove",
        description=__doc__,
        epilog=f'parts:\n{listed}\n\nThe options of a part: make prove ONLY=kills PROVE="--help"',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("only", nargs="*", choices=[[], *PARTS], metavar="PART", help="all of them without any")
    named = list(takewhile(lambda word: not word.startswith("-"), argv))
    options = list(argv[len(named) :])
    names = parser.parse_args(named or options).only or list(PARTS)
    if options and len(names) > 1:
        parser.error(f"options belong to one part, not to {len(names)}")
    failed = [name for name in names if not passes(name, options)]
    print(f"failed: {', '.join(failed)}" if failed else f"all passed: {', '.join(names)}", flush=True)
    return 1 if failed else 0


def passes(name: str, options: Sequence[str]) -> bool:
    """Run one part in a process of its own, with its progress on the terminal."""
    part = PARTS[name]
    print(f"\n{name}: {part.what}", flush=True)
    began_at = time.monotonic()
    with _environment(part) as environment:
        done = subprocess.run([sys.executable, "-m", part.module, *options], cwd=ROOT, env=environment, check=False)
    passed = done.returncode == 0
    print(f"{name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - began_at:.0f} s", flush=True)
    return passed


@contextlib.contextmanager
def _environment(part: Part) -> Iterator[Mapping[str, str]]:
    """Give a part its environment, with a local stack of its own where it needs one."""
    if not part.on_a_stack:
        yield os.environ
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run = LocalRun(Path(folder) / "state")
        try:
            run.start()
            yield run.environment
            run.end(signal.SIGTERM)
        finally:
            run.clear()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
