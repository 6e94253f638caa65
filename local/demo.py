"""`make demo`: signed, repeated, shuffled, late and forged traffic for the running stack, then an audit."""

import argparse
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from random import Random

import pg8000.native

from cli.local_aws import client
from cli.local_stack import Source, Stack, StackNotRunning, read_stack
from cli.progress import Progress
from local import audit
from local.chaos import Killer
from local.database import connect
from local.errors import LocalError
from local.options import read_options
from local.senders import Sender, TopicSender, WebhookSender
from local.traffic import Plan, Request, forgeries, plan
from samples import Keys, sampler

#: Requests under way at once.
SENDERS = 4
#: The share of a source whose requests carry many events, compared with one of single events.
BATCHED_SHARE = 3
#: How long nothing new may be stored before the demo stops waiting; records of a killed process come back sooner.
STALL_SECONDS = 60.0
REFUSED = 401
PROCESS_ROLE = "mailfold_process"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one run of the demo came to."""

    lines: tuple[audit.Line, ...]
    seconds: float
    killed: int
    killed_in_transaction: int

    @property
    def clean(self) -> bool:
        """Whether every line is."""
        return all(line.clean for line in self.lines)


class Demo:
    """One run against one stack."""

    def __init__(self, stack: Stack, *, events: int, seed: int, kills: int = 0) -> None:
        self._stack = stack
        self._rng = Random(seed)  # noqa: S311 - a demo wants to be repeatable
        # Never from the seed: a repeated demo must send new events, not copies of old ones.
        self._run = f"demo{secrets.token_hex(6)}"
        self._plans = self._make_plans(events)
        self._senders = {name: self._sender(name, source) for name, source in stack.sources.items()}
        self._sqs = client("sqs", stack.aws_endpoint)
        self._killer = Killer(
            function=stack.functions["process"], role=PROCESS_ROLE, dsn=stack.dsn, kills=kills, rng=self._rng
        )
        self._statuses: dict[str, Counter[int]] = {name: Counter() for name in self._plans}

    def run(self) -> Outcome:
        """Send everything, wait until the queue is empty, and audit."""
        began_at = time.monotonic()
        self._killer.start()
        try:
            self._send()
            with connect(self._stack.dsn) as connection:
                self._drain(connection)
                lines = tuple(self._audit(connection, name) for name in self._plans)
        finally:
            self._killer.stop()
            self._sqs.close()
            for sender in self._senders.values():
                sender.close()
        return Outcome(
            lines=lines,
            seconds=time.monotonic() - began_at,
            killed=self._killer.killed,
            killed_in_transaction=self._killer.in_transaction,
        )

    def _make_plans(self, events: int) -> dict[str, Plan]:
        sources = self._stack.sources
        shares = {n: BATCHED_SHARE if sampler(s.provider).BATCH > 1 else 1 for n, s in sources.items()}
        return {
            name: plan(
                source=name,
                sampler=sampler(source.provider),
                events=max(1, events * shares[name] // sum(shares.values())),
                run=self._run,
                rng=self._rng,
                now=datetime.now(UTC),
                forgeries=forgeries(source.provider) if source.signer else (),
            )
            for name, source in sources.items()
        }

    def _sender(self, name: str, source: Source) -> Sender:
        if source.secret and source.signer:
            keys = Keys(secret=source.secret, signer=source.signer)
            return WebhookSender(f"{self._stack.base_url}/webhooks/{name}", sampler(source.provider), keys)
        if self._stack.topic_arn is None:
            raise LocalError(f"The source {name} has neither keys nor a topic to send to.")
        return TopicSender(self._stack.topic_arn, self._stack.queue_url, self._stack.aws_endpoint)

    def _send(self) -> None:
        requests = _interleaved(self._plans, self._rng)
        progress = Progress("sending", sum(len(request.events) for request in requests))

        def send(numbered: tuple[int, Request]) -> tuple[Request, int]:
            number, request = numbered
            self._killer.pace(number / len(requests))
            status = self._senders[request.source].send(request)
            progress.advance(len(request.events))
            return request, status

        with ThreadPoolExecutor(SENDERS) as pool:
            for request, status in pool.map(send, enumerate(requests)):
                if request.forgery:
                    self._statuses[request.source][status] += 1

    def _drain(self, connection: pg8000.native.Connection) -> None:
        expected = sum(len(each.markers) for each in self._plans.values())
        progress = Progress("storing", expected)
        stored, changed_at = -1, time.monotonic()
        while time.monotonic() - changed_at < STALL_SECONDS:
            before, stored = stored, sum(self._stored(connection, name) for name in self._plans)
            progress.reach(stored)
            if stored != before:
                changed_at = time.monotonic()
            # The last copies may still be on their way when the last event is in.
            if stored >= expected and self._waiting() == 0:
                return
            time.sleep(0.2)

    def _stored(self, connection: pg8000.native.Connection, name: str) -> int:
        return len(audit.stored_markers(connection, name, self._marker_path(name), self._run))

    def _waiting(self) -> int:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        answer = self._sqs.get_queue_attributes(QueueUrl=self._stack.queue_url, AttributeNames=names)
        return sum(int(answer["Attributes"][name]) for name in names)

    def _audit(self, connection: pg8000.native.Connection, name: str) -> audit.Line:
        refused = self._statuses[name][REFUSED]
        return audit.audit_source(connection, self._plans[name], self._marker_path(name), self._run, refused)

    def _marker_path(self, name: str) -> tuple[str, ...]:
        return sampler(self._stack.sources[name].provider).MARKER


def _interleaved(plans: Mapping[str, Plan], rng: Random) -> list[Request]:
    """Mix the sources, keeping each one's own order."""
    placed = [
        (index / len(each.requests) + rng.random() / 100, number, request)
        for number, each in enumerate(plans.values())
        for index, request in enumerate(each.requests)
    ]
    return [request for _, _, request in sorted(placed, key=lambda entry: entry[:2])]


def report(outcome: Outcome) -> str:
    """Write the audit for a person."""
    whole = audit.total(outcome.lines)
    killed = (
        f" Of process, {outcome.killed} processes were killed, {outcome.killed_in_transaction} in a transaction."
        if outcome.killed
        else ""
    )
    verdict = "exactly once" if outcome.clean else "NOT exactly once"
    return (
        f"\n{audit.table([*outcome.lines, whole])}\n\n"
        f"{verdict}: {whole.lost} lost, {whole.doubled} doubled, {whole.accepted} forged accepted, "
        f"{whole.dead} dead letters, in {outcome.seconds:.0f} s.{killed}"
    )


def main() -> None:
    """Parse the arguments, run the demo, report; the exit status is the audit's."""
    parser = argparse.ArgumentParser(prog="python -m local.demo", description=__doc__)
    parser.add_argument("--events", type=int, default=3000, help="distinct events, all sources together (3000)")
    parser.add_argument("--seed", type=int, default=1, help="of the shuffling (1)")
    parser.add_argument("--kill", type=int, default=0, metavar="N", help="kill -9 a process of `process` N times")
    parser.add_argument("--json", action="store_true", help="print the audit as JSON")
    arguments = parser.parse_args()
    try:
        stack = read_stack(read_options().state)
        outcome = Demo(stack, events=arguments.events, seed=arguments.seed, kills=arguments.kill).run()
    except (LocalError, StackNotRunning) as error:
        sys.exit(str(error))
    print(json.dumps(asdict(outcome) | {"clean": outcome.clean}) if arguments.json else report(outcome))
    sys.exit(0 if outcome.clean else 1)


if __name__ == "__main__":
    main()
