"""prune: how fast beside one plain DELETE of the same rows, and what the fold feels of it."""

import contextlib
import io
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, tzinfo
from threading import Thread
from time import perf_counter

from bench.figures import Section, percentile
from bench.lab import Function, Lab, process_function, taken
from bench.measure import Way, in_turns, ratios
from bench.preload import NOW, loaded
from bench.progress import Ticker
from bench.traffic import SOURCES, Traffic, envelopes
from local.testing.events import sqs_event

WINDOW = timedelta(days=30)
DAY = timedelta(days=1)
#: Pairs of a day pruned and a day deleted.
PAIRS = {1_000_000: 7, 5_000_000: 5}
#: The fold is watched this often, each time beside a prune of so many days.
WATCHES, WATCHED_DAYS = 5, 3
FOLDS_ALONE = 300
SMALL_BATCH = 100
LONG_MS = 900_000


class Calendar:
    """Tells prune what day it is: each turn finds one day more past the window, so no store is loaded twice."""

    def __init__(self) -> None:
        self.cutoff = NOW - WINDOW

    def pass_days(self, days: int = 1) -> str:
        """Let days pass and return the cutoff."""
        self.cutoff += days * DAY
        return self.cutoff.isoformat()

    def now(self, _zone: tzinfo) -> datetime:
        """Answer as datetime.now does."""
        return self.cutoff + WINDOW


class Store:
    """A loaded store with prune on it."""

    def __init__(self, lab: Lab, rows: int) -> None:
        self.name = loaded(lab, rows)
        self.rows_a_day = rows / WINDOW.days
        self.owner = lab.owner(self.name)
        self.prune = Function("prune", {"DATABASE_URL": lab.url(self.name, "mailfold_prune"), "RETENTION": "{}"})
        self.calendar = Calendar()
        vars(self.prune.module)["datetime"] = self.calendar
        self.wal: dict[str, list[float]] = {"prune": [], "delete": []}
        # Every page that is touched from here on is logged whole once, in whichever way it is touched.
        self.owner.execute("checkpoint")

    def ways(self) -> dict[str, Way]:
        """Return both ways to delete the next day."""
        return {"prune": self._way("prune", self._prune), "delete": self._way("delete", self._delete)}

    def prune_days(self, days: int) -> None:
        """Prune and insist that these days, no more and no less, are gone."""
        answer = self.prune({}, LONG_MS)
        if not answer["finished"] or abs(answer["events"] - days * self.rows_a_day) > days:
            raise RuntimeError(f"prune answered {answer}")

    def close(self) -> None:
        """Let go of the store."""
        self.prune.close()
        self.owner.close()

    def _way(self, name: str, delete_day: Callable[[], object]) -> Way:
        def prepare() -> Callable[[], object]:
            # Neither way is to walk over the index entries that the other has left.
            self.owner.execute("vacuum email_events")
            self.calendar.pass_days()
            return work

        def work() -> None:
            before = self._wal_bytes()
            delete_day()
            self.wal[name].append((self._wal_bytes() - before) / self.rows_a_day)

        return prepare

    def _prune(self) -> None:
        self.prune_days(1)

    def _delete(self) -> None:
        cutoff = self.calendar.cutoff.isoformat()
        self.owner.execute(f"delete from email_events where received_at < '{cutoff}'")  # noqa: S608  # nosec B608 - our own clock

    def _wal_bytes(self) -> float:
        return float(self.owner.execute("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")[0][0])


def measure(lab: Lab, ticker: Ticker) -> Section:
    """Prune stores of one and five million events in turns with a plain DELETE, then beside the fold."""
    section = Section(name="prune")
    for rows, pairs in PAIRS.items():
        ticker.tick(f"loading {rows:,} events")
        with _store(lab, rows) as store:
            _compare(section, store, rows, pairs, ticker)
            if rows == max(PAIRS):
                _watch_fold(section, store, lab, ticker)
    section.notes.append(
        "One 30th of the rows is past the window in each turn. prune and the plain DELETE take turns on one store, a"
        " day each. The DELETE is one transaction and counts nothing; prune commits in batches and freezes the totals."
    )
    return section


@contextlib.contextmanager
def _store(lab: Lab, rows: int) -> Iterator[Store]:
    store = Store(lab, rows)
    try:
        yield store
    finally:
        store.close()


def _compare(section: Section, store: Store, rows: int, pairs: int, ticker: Ticker) -> None:
    seconds = in_turns(store.ways(), rounds=pairs, ticker=ticker)
    size = f"{rows // 1_000_000} M"
    for name in ("prune", "delete"):
        section.add(f"{name} at {size} rows", [store.rows_a_day / taken_s for taken_s in seconds[name]], unit="rows/s")
        section.add(f"write-ahead log, {name} at {size} rows", store.wal[name][1:], unit="bytes/row")
    ratio = ratios(seconds["delete"], seconds["prune"])
    section.add(f"prune over one plain DELETE of the same rows, {size}", ratio, must=(">=", 0.5))


def _watch_fold(section: Section, store: Store, lab: Lab, ticker: Ticker) -> None:
    process = process_function(lab.url(store.name, "mailfold_process"), sources=SOURCES)
    fold = _folder(process)
    alone: list[list[float]] = []
    beside: list[list[float]] = []
    # The two functions swap stdout in two threads; whatever order they put it back in, this puts it right.
    with contextlib.redirect_stdout(io.StringIO()):
        for turn in range(WATCHES + 1):
            before = [fold() for _ in range(FOLDS_ALONE)]
            store.calendar.pass_days(WATCHED_DAYS)
            thread = Thread(target=store.prune_days, args=(WATCHED_DAYS,))
            thread.start()
            during = [fold() for _ in iter(thread.is_alive, False)]
            thread.join()
            if turn:
                beside.append(during)
                alone.append(before)
            ticker.tick(f"fold beside prune, {turn} of {WATCHES}")
    process.close()
    section.add("fold p99 before prune", [p99 * 1000 for p99 in _p99s(alone)], unit="ms")
    section.add("fold p99 during prune", [p99 * 1000 for p99 in _p99s(beside)], unit="ms")
    slower = [during / before for during, before in zip(_p99s(beside), _p99s(alone), strict=True)]
    section.add("fold p99 during prune over before", slower, must=("<=", 2))
    section.notes.append(
        f"p99 over {sum(map(len, beside))} folds of {SMALL_BATCH} events beside prune and"
        f" {WATCHES * FOLDS_ALONE} before; the spread is what it becomes when any one of the rounds is left out."
    )


def _folder(process: Function) -> Callable[[], float]:
    traffic = Traffic(seed=77)

    def fold() -> float:
        event = sqs_event(envelopes(traffic.events(SMALL_BATCH)))
        began_at = perf_counter()
        taken(process, event)
        return perf_counter() - began_at

    return fold


def _p99s(rounds: list[list[float]]) -> list[float]:
    """Return the p99 of all rounds but one, for each one: a single round has too few folds for a p99."""
    pools = ([fold for other in rounds if other is not one for fold in other] for one in rounds)
    return [percentile(pool, 0.99) for pool in pools]
