"""Three clocks: of this machine, of AWS, of the database."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from cli.checks.examination import Examination, Finding, NotChecked, Note, Said

#: A fifth of the shortest tolerance of any provider (300 s), which is what honest delays may need.
MOST_SECONDS = 60


def _now() -> datetime:
    return datetime.now(UTC)


def check_clock(exam: Examination, *, now: Callable[[], datetime] = _now) -> Iterator[Said]:
    """Compare them; receive goes by AWS's."""
    before = now()
    answer = exam.ask("cloudformation", "describe_stacks", StackName=exam.place.stack) or {}
    after = now()
    stamp = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    if not stamp:
        raise NotChecked("AWS did not say what time it is")
    aws_at = parsedate_to_datetime(stamp)
    # The answer was written at some moment of the call; the header has no fractions of a second.
    here = ((before + (after - before) / 2) - aws_at).total_seconds()
    if abs(here) > MOST_SECONDS:
        yield Finding(
            what=f"the clock of this machine is {_off(here)} AWS's",
            fix="set it by NTP; until then AWS refuses what is signed here, and so do providers' checks",
        )
    store_at = datetime.fromisoformat(exam.store["now"])
    # Both were asked for within this run, so the difference is taken over this machine's clock.
    there = (store_at - now()).total_seconds() + here
    if abs(there) > MOST_SECONDS:
        yield Finding(
            what=f"the clock of the database is {_off(there)} AWS's",
            fix="on RDS open a support case; elsewhere set it by NTP: prune and the totals go by it",
        )
    yield Note(text=f"this machine {here:+.0f} s, database {there:+.0f} s")


def _off(seconds: float) -> str:
    return f"{abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'}"
