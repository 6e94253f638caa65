"""watch: what it measures of each source and of the dead letters, through the real handler and under its own role."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from local.testing.handlers import Context, load_handler
from mailfold.errors import TransientStoreError
from mailfold.source_health import THRESHOLDS
from mailfold.steps.watch import DAY_SECONDS, watch
from mailfold.store.connection import Database
from mailfold.telemetry import Telemetry
from tests.integration.conftest import Store
from tests.support.blobs import metrics, of
from tests.support.databases import WatchedDatabase
from tests.support.records import SOURCES

NUMBERS = count(1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

Watched = Callable[[], dict[str, Any]]
Measured = Callable[..., float]


def add(
    store: Store, amount: int, kind: str = "delivered", *, ago: timedelta, source: str = "main", hard: bool = False
) -> None:
    """Store so many events that were received that long ago."""
    at = datetime.now(UTC) - ago
    bounce_class = "'hard'" if hard else "'soft'" if kind == "bounced" else "null"
    store.rows(
        "insert into email_events (event_id, fingerprint, source, provider, kind, type, bounce_class, scope, recipient,"
        " occurred_at, received_at, machine, payload)"
        f" select 'e{next(NUMBERS)}-' || n, 'f', '{source}', 'test', 'k', '{kind}', {bounce_class}, '',"
        f" 'ann@example.com', '2020-01-01', '{at}', false, '{{}}' from generate_series(1, {amount}) n"
    )


@pytest.fixture
def watched(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """Call the real watch function."""
    sources = json.dumps({name: {"provider": source.provider} for name, source in SOURCES.items()})
    environment = {"SOURCES": sources, "DATABASE_URL": store.url("mailfold_watch")}
    function = load_handler("watch", monkeypatch, environment)
    yield lambda: dict(function.handler({}, Context()))
    function.database.close()


@pytest.fixture
def measured(watched: Watched, capsys: pytest.CaptureFixture[str]) -> Measured:
    """Call the real watch function and return one of its metrics."""

    def measure(name: str, source: str | None = "main") -> float:
        capsys.readouterr()
        watched()
        return metrics(capsys.readouterr().out)[of("watch", name, source)]

    return measure


def test_an_empty_database_is_measured_too(watched: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    answer = watched()

    assert answer == {"sources": 3, "high": 0, "quiet": 0, "dead_letters": 0}
    found = metrics(capsys.readouterr().out)
    assert found[of("watch", "WatchRuns")] == 1
    assert found[of("watch", "DeadLetters")] == found[of("watch", "OldestDeadLetterSeconds")] == 0
    for source in SOURCES:
        assert {found[of("watch", name, source)] for name in [*THRESHOLDS, "SourceQuiet"]} == {0}
        assert found[of("watch", "SecondsSinceLastEvent", source)] == DAY_SECONDS


def test_rates_are_per_source_and_by_hour_and_day(
    store: Store, watched: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    add(store, 900, ago=HOUR / 2)
    add(store, 100, "bounced", ago=HOUR / 2, hard=True)
    add(store, 10, "complained", ago=HOUR / 2)
    add(store, 900, ago=23 * HOUR)
    add(store, 60, "bounced", ago=23 * HOUR, hard=True)
    add(store, 40, "bounced", ago=23 * HOUR)
    add(store, 4, "complained", ago=23 * HOUR)
    add(store, 2_000, ago=HOUR / 2, source="ses")
    add(store, 9_999, "bounced", ago=25 * HOUR, hard=True)

    answer = watched()

    found = metrics(capsys.readouterr().out)
    assert {name: found[of("watch", name, "main")] for name in THRESHOLDS} == {
        "HardBouncePercentHour": 10.0,
        "HardBouncePercentDay": 8.0,
        "ComplaintPercentHour": 1.0,
        "ComplaintPercentDay": 0.7,
    }
    assert {found[of("watch", name, "ses")] for name in THRESHOLDS} == {0}
    assert answer["high"] == 4


def test_soft_bounces_are_sends_and_no_hard_bounces(store: Store, measured: Measured) -> None:
    add(store, 500, "bounced", ago=HOUR / 2)
    add(store, 450, ago=HOUR / 2)
    add(store, 50, "bounced", ago=HOUR / 2, hard=True)

    assert measured("HardBouncePercentHour") == 5.0


def test_a_message_is_sent_once_though_it_is_told_twice(store: Store, measured: Measured) -> None:
    """Some providers tell that they took a message and what became of it, some only the latter."""
    add(store, 1_000, "processed", ago=HOUR / 2)
    add(store, 900, ago=HOUR / 2)
    add(store, 100, "bounced", ago=HOUR / 2, hard=True)

    assert measured("HardBouncePercentHour") == 10.0


def test_the_last_event_of_each_source_is_timed(store: Store, measured: Measured) -> None:
    add(store, 1, "opened", ago=5 * HOUR)
    add(store, 1, ago=2 * HOUR)
    add(store, 1, ago=HOUR / 60, source="ses")
    add(store, 1, ago=-HOUR)

    seconds = measured("SecondsSinceLastEvent")

    assert 7_200 <= seconds < 7_260
    assert 60 <= measured("SecondsSinceLastEvent", "ses") < 120


def add_week(store: Store, amount: int, *, days: range = range(1, 8)) -> None:
    for day in days:
        add(store, amount, ago=day * DAY + HOUR / 2)


@pytest.mark.parametrize(("now", "quiet"), [(25, 0), (24, 1), (0, 1)])
def test_a_fall_far_below_the_same_hour_of_other_days_is_quiet(
    store: Store, measured: Measured, now: int, quiet: int
) -> None:
    add_week(store, 125)
    add(store, now, ago=HOUR / 2)

    assert measured("SourceQuiet") == quiet
    assert measured("SourceQuiet", "ses") == 0


def test_other_hours_of_other_days_do_not_count(store: Store, measured: Measured) -> None:
    for day in range(1, 8):
        add(store, 1_000, ago=day * DAY + 2 * HOUR)
        add(store, 1_000, ago=day * DAY - HOUR)

    assert measured("SourceQuiet") == 0


def test_one_large_mailing_a_week_ago_makes_no_ordinary_hour_strange(store: Store, measured: Measured) -> None:
    add_week(store, 30, days=range(1, 7))
    add(store, 3_000, ago=7 * DAY + HOUR / 2)
    add(store, 30, ago=HOUR / 2)

    assert measured("SourceQuiet") == 0


def test_a_day_that_was_always_silent_is_not_quiet(store: Store, measured: Measured) -> None:
    add_week(store, 100, days=range(1, 7))

    assert measured("SourceQuiet") == 0


def test_a_small_source_is_quiet_after_a_whole_day(store: Store, measured: Measured) -> None:
    add_week(store, 4)
    silent = measured("SourceQuiet")

    add(store, 1, ago=23 * HOUR)

    assert (silent, measured("SourceQuiet")) == (1, 0)


def test_a_source_that_is_no_longer_configured_is_passed_over(
    store: Store, watched: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    add(store, 1, ago=HOUR / 2, source="sold")

    assert watched()["sources"] == len(SOURCES)
    assert "sold" not in capsys.readouterr().out


def test_dead_letters_that_wait_are_counted_and_the_oldest_is_timed(store: Store, measured: Measured) -> None:
    for kind, minutes in {"unparseable": 5, "claim_conflict": 90, "conflict": 500}.items():
        store.rows(
            "insert into dead_letters (dead_letter_id, kind, reason, raw, received_at, created_at) values"
            f" ('{kind}', '{kind}', 'r', 'raw', now(), now() - interval '{minutes} minutes')"
        )
    # It rang as a conflict when it came; an alarm without an end would press a person to fold it.
    store.rows(
        "insert into dead_letters (dead_letter_id, kind, reason, raw, received_at, created_at, unproven) values"
        " ('forged', 'claim_conflict', 'r', 'raw', now(), now() - interval '900 minutes', true)"
    )

    assert measured("DeadLetters", None) == 2
    assert 90 * 60 <= measured("OldestDeadLetterSeconds", None) < 91 * 60


def test_what_is_high_or_quiet_is_said_without_an_address(
    store: Store, watched: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    add(store, 500, "bounced", ago=HOUR / 2, hard=True)
    for day in range(1, 8):
        add(store, 100, ago=day * DAY + HOUR / 2, source="ses")

    watched()

    output = capsys.readouterr().out
    lines = [json.loads(line) for line in output.splitlines() if '"_aws"' not in line]
    assert [(line["message"], line.get("source")) for line in lines] == [
        ("rate is high", "main"),
        ("source is quiet", "ses"),
        ("watched", None),
    ]
    assert "@" not in output


@pytest.mark.parametrize(
    "statement",
    [
        "select recipient from email_events",
        "select payload from email_events",
        "select message_id from email_events",
        "select raw from dead_letters",
        "select reason from dead_letters",
        "select * from suppressions",
        "select * from message_status",
        "delete from dead_letters",
    ],
)
def test_it_may_read_nothing_that_could_name_a_recipient(store: Store, statement: str) -> None:
    database = Database(store.url("mailfold_watch"))

    with pytest.raises(TransientStoreError, match="42501"):
        database.execute(statement)

    database.close()


def test_it_asks_twice_whatever_there_is_and_changes_nothing(store: Store) -> None:
    add_week(store, 50)
    database = WatchedDatabase(store.url("mailfold_watch"))

    watch(database, Telemetry("watch"), sources=SOURCES, now=datetime.now(UTC))

    database.close()
    assert database.statements == ["begin", "watch", "watch_dead_letters", "commit"]
