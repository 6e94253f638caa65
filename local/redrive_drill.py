"""Break an adapter, send, fix it, redrive under live traffic, then audit; on the local stack that runs.

`make prove ONLY=redrive` runs it on a stack of its own.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from cli.local_stack import STATE_VARIABLE, Stack, StackNotRunning, read_stack
from cli.progress import Progress
from local import audit
from local.adapters import broken_adapter
from local.database import connect
from local.errors import LocalError
from local.live import Latencies, LiveTraffic
from local.options import ROOT, read_options
from local.senders import WebhookSender
from local.traffic import plan
from samples import Keys, sampler

#: Whose adapter breaks: a provider that sends many events in a request, so that there are soon enough of them.
SOURCE = "sendgrid"
SENDERS = 4
#: How long nothing new may become a dead letter before the drill gives up.
STALL_SECONDS = 60.0
#: No live event may come this much later than it would have.
LONGEST_DELAY_SECONDS = 1.0

DEAD = "select count(*) from dead_letters where source = :source and position(:run in raw) > 0"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one drill came to."""

    #: Of the events that were sent while the adapter was broken, and of live traffic.
    lines: tuple[audit.Line, ...]
    dead_letters: int
    #: What the command said while the adapter was still broken, and once it was fixed.
    while_broken: dict[str, Any]
    when_mended: dict[str, Any]
    redrive_seconds: float
    before: Latencies
    during: Latencies

    @property
    def delay_seconds(self) -> float:
        """How much later than the usual live event the slowest one came during the redrive."""
        return self.during.longest - self.before.median

    @property
    def clean(self) -> bool:
        """Whether nothing is lost, doubled, left over or late."""
        counted = self.when_mended["done"]["new"] == self.dead_letters == self.while_broken["tried"]["left"]
        on_time = self.delay_seconds <= LONGEST_DELAY_SECONDS
        return counted and on_time and all(line.clean for line in self.lines)


class Drill:
    """One drill against one stack."""

    def __init__(self, stack: Stack, *, events: int, rate: int, calm_seconds: float, seed: int) -> None:
        self._stack = stack
        self._rate = rate
        #: How long live traffic is measured before the redrive begins.
        self._calm_seconds = calm_seconds
        self._run = f"drill{secrets.token_hex(6)}"
        source = stack.sources[SOURCE]
        self._sampler = sampler(source.provider)
        self._sender = WebhookSender(
            f"{stack.base_url}/webhooks/{SOURCE}",
            self._sampler,
            Keys(secret=source.secret or "", signer=source.signer or ""),
        )
        rng = Random(seed)  # noqa: S311 - a drill wants to be repeatable
        self._plan = plan(
            source=SOURCE,
            sampler=self._sampler,
            events=events,
            run=self._run,
            rng=rng,
            now=datetime.now(UTC),
            forgeries=(),
        )
        self._live = LiveTraffic(
            dsn=stack.dsn, sender=self._sender, sampler=self._sampler, source=SOURCE, run=f"live{self._run}", rng=rng
        )

    def run(self) -> Outcome:
        """Break, send, fix, redrive, audit."""
        with broken_adapter(self._stack, self._stack.sources[SOURCE].provider):
            self._send()
            self._await_dead_letters()
            while_broken, _ = self._redrive()
        with self._live:
            self._live.warm_up()
            before = self._live.measure(self._calm_seconds)
            began_at = time.monotonic()
            when_mended, seconds = self._redrive("--apply", "--yes")
            during = self._live.since(began_at)
        self._sender.close()
        with connect(self._stack.dsn) as connection:
            sent = ((self._plan, self._run), (self._live.plan(), self._live.run))
            lines = tuple(
                audit.audit_source(connection, sent_plan, self._sampler.MARKER, run, refused=0)
                for sent_plan, run in sent
            )
        return Outcome(
            lines=lines,
            dead_letters=len(self._plan.markers),
            while_broken=while_broken,
            when_mended=when_mended,
            redrive_seconds=seconds,
            before=before,
            during=during,
        )

    def _send(self) -> None:
        progress = Progress("sending", sum(len(request.events) for request in self._plan.requests))
        with ThreadPoolExecutor(SENDERS) as pool:
            for request, status in zip(
                self._plan.requests, pool.map(self._sender.send, self._plan.requests), strict=True
            ):
                progress.advance(len(request.events))
                if status != 200:
                    raise LocalError(f"A request was answered {status}.")

    def _await_dead_letters(self) -> None:
        progress = Progress("dying", len(self._plan.markers))
        dead, changed_at = -1, time.monotonic()
        with connect(self._stack.dsn) as connection:
            while dead < len(self._plan.markers):
                ((found,),) = connection.run(DEAD, source=SOURCE, run=self._run)
                if found != dead:
                    dead, changed_at = found, time.monotonic()
                if time.monotonic() - changed_at > STALL_SECONDS:
                    raise LocalError(f"Only {dead} of {len(self._plan.markers)} events became dead letters.")
                progress.reach(dead)
                time.sleep(0.2)

    def _redrive(self, *arguments: str) -> tuple[dict[str, Any], float]:
        """Call the command as a person would."""
        began_at = time.monotonic()
        words = ["dead-letters", "redrive", "--all", "--rate", str(self._rate), "--json", *arguments]
        environment = {**os.environ, STATE_VARIABLE: str(read_options().state)}
        done = subprocess.run(
            [ROOT / "bin/mailfold", "--local", *words], env=environment, stdout=subprocess.PIPE, text=True
        )
        if done.returncode not in (0, 1):
            raise LocalError("The redrive failed.")
        return json.loads(done.stdout), time.monotonic() - began_at


def report(outcome: Outcome) -> str:
    """Write the outcome for a person."""
    done = outcome.when_mended["done"]
    named = zip(outcome.lines, ("broken", "live"), strict=True)
    lines = [replace(line, source=name) for line, name in named]
    return (
        f"\n{audit.table(lines)}\n\n"
        f"while broken: {outcome.while_broken['tried']['left']} of {outcome.dead_letters} would be left\n"
        f"when fixed:  {done['new']} folded, {done['duplicate']} known already, {done['left']} left, "
        f"tried and done in {outcome.redrive_seconds:.0f} s\n"
        f"live events before: {outcome.before}\n"
        f"live events during: {outcome.during}\n"
        f"{'clean' if outcome.clean else 'NOT clean'}: the slowest live event came {outcome.delay_seconds:.2f} s "
        f"later than the usual one"
    )


def main() -> None:
    """Parse the arguments, run the drill, report; the exit status is the outcome's."""
    parser = argparse.ArgumentParser(prog="python -m local.redrive_drill", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000, help="distinct events (10000)")
    parser.add_argument("--rate", type=int, default=200, help="dead letters a second (200)")
    parser.add_argument("--calm", type=float, default=15, help="seconds of live traffic before the redrive (15)")
    parser.add_argument("--seed", type=int, default=1, help="of the shuffling (1)")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    arguments = parser.parse_args()
    try:
        stack = read_stack(read_options().state)
        outcome = Drill(
            stack, events=arguments.events, rate=arguments.rate, calm_seconds=arguments.calm, seed=arguments.seed
        ).run()
    except (LocalError, StackNotRunning) as error:
        sys.exit(str(error))
    told = asdict(outcome) | {"clean": outcome.clean, "delay_seconds": outcome.delay_seconds}
    print(json.dumps(told) if arguments.json else report(outcome))
    sys.exit(0 if outcome.clean else 1)


if __name__ == "__main__":
    main()
