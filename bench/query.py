"""query: what an answer costs on a full store, from API Gateway's event on, beside the plainest statement."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, islice
from random import Random
from time import perf_counter
from typing import Any
from urllib.parse import quote

from bench.figures import Section, percentile
from bench.lab import Function, Lab
from bench.preload import NOW, loaded, run_sql
from bench.progress import Ticker
from bench.traffic import SOURCES
from local.testing.events import question_event
from mailfold.store.connection import Database, Parameter, Rows
from mailfold.tokens import new_token, token_hash

ROWS = 5_000_000
#: Rounds of so many samples that a p99 is taken from, and different things to ask for.
ROUNDS = 9
LOOK_UPS = 150
SUBJECTS = 200
PAGES = 25
CHECKED = 1_000
#: How many times `select 1` a look-up may take, at its p99, and how many times one address a thousand may take.
LOOK_UP_BOUND, CHECK_BOUND = 50, 20

Ask = Callable[[], object]


class Library:
    """A full store with the real function on it, and somebody who may ask."""

    def __init__(self, lab: Lab, rows: int) -> None:
        self.name = lab.copy(loaded(lab, rows))
        run_sql(lab, self.name, "preload_trouble", rows)
        self.owner = lab.owner(self.name)
        self._token = new_token()
        self.owner.execute(
            "insert into api_tokens (name, token_hash, scopes, created_at, last_used_at) "  # noqa: S608  # nosec B608 - our own token
            f"values ('bench', '{token_hash(self._token)}', array['read', 'raw'], now(), now())"
        )
        environment = {"SOURCES": SOURCES, "TOPICS": "{}", "PUBLISH": "false", "SOFT_LIMIT": "5", "RETENTION": "{}"}
        self.function = Function("query", {**environment, "DATABASE_URL": lab.url(self.name, "mailfold_query")})
        self.function.module.query_context.request_rate.burst = 10**9
        #: What the statements of an answer took so far, without those that find out who asks.
        self.statement_s = 0.0
        self._watch(self.function.module.database)
        self.messages = self._some("select message_id from email_events tablesample bernoulli (0.5)")
        self.recipients = self._some("select recipient from email_events tablesample bernoulli (0.5)")
        self.stopped = self._some("select address from suppressions tablesample bernoulli (0.5)")

    def ask(self, method: str, path: str, query: str = "", body: Any = None) -> dict[str, Any]:
        """Ask the function and insist on an answer."""
        sent = b"" if body is None else json.dumps(body).encode()
        event = question_event(method, path, query, {"authorization": f"Bearer {self._token}"}, sent)
        answer: dict[str, Any] = self.function(event)
        if answer["statusCode"] != 200:
            raise RuntimeError(f"{path} is answered {answer['statusCode']}: {answer['body']}")
        return answer

    def select_one(self) -> object:
        """Run the plainest statement on the same connection."""
        return self.function.module.database.execute("select 1")

    def _watch(self, database: Database) -> None:
        run = database.run

        def watched(name: str, parameters: Mapping[str, Parameter]) -> Rows:
            began_at = perf_counter()
            try:
                return run(name, parameters)
            finally:
                if not name.startswith("token_"):
                    self.statement_s += perf_counter() - began_at

        vars(database)["run"] = watched

    def close(self) -> None:
        """Let go of the connections."""
        self.function.close()
        self.owner.close()

    def _some(self, sql: str) -> list[str]:
        found = sorted(str(row[0]) for row in self.owner.execute(sql))
        return Random(1).sample(found, min(SUBJECTS, len(found)))


def measure(lab: Lab, ticker: Ticker) -> Section:
    """Ask for single things, for many addresses, and for pages."""
    section = Section(name="query")
    ticker.tick(f"loading {ROWS:,} events")
    library = Library(lab, ROWS)
    try:
        _look_ups(section, library, ticker)
        _checks(section, library, ticker)
        _pages(section, library, ticker)
    finally:
        library.close()
        lab.drop(library.name)
    return section


def _look_ups(section: Section, library: Library, ticker: Ticker) -> None:
    ways: dict[str, Callable[[str], object]] = {
        "a message": lambda it: library.ask("GET", f"/v1/messages/{it}"),
        "a recipient": lambda it: library.ask("GET", f"/v1/recipients/{it}"),
        "a check of one address": lambda it: library.ask("POST", "/v1/suppressions/check", body={"addresses": [it]}),
        "a stopped address": lambda it: library.ask("GET", f"/v1/recipients/{it}"),
    }
    subjects = dict(zip(ways, (library.messages, library.recipients, library.stopped, library.stopped), strict=True))
    for name, way in ways.items():
        ticker.tick(name)
        stream = cycle(subjects[name])
        _round(library, stream, way)
        rounds = [_round(library, stream, way) for _ in range(ROUNDS)]
        tails = [percentile(looked_up, 0.99) / percentile(plain, 0.5) for plain, looked_up, _ in rounds]
        wholes = {
            share: [percentile(asked, share) / percentile(plain, 0.5) for plain, _, asked in rounds]
            for share in (0.5, 0.99)
        }
        section.add(f"p99 of looking up {name} over p50 of select 1", tails, must=("<=", LOOK_UP_BOUND))
        for share, whole in wholes.items():
            section.add(f"p{share * 100:.0f} of the whole answer for {name} over p50 of select 1", whole)
    plain, _, _ = _round(library, cycle(library.stopped), ways["a check of one address"])
    section.add("p99 of select 1 over its p50", [percentile(plain, 0.99) / percentile(plain, 0.5)])


def _round(
    library: Library, subjects: Iterator[str], way: Callable[[str], object]
) -> tuple[list[float], list[float], list[float]]:
    """Take turns, so that a busy moment hits all; return select 1, the statements alone, and the whole answers."""
    plain, looked_up, asked = [], [], []
    for subject in islice(subjects, LOOK_UPS):
        plain.append(_seconds(library.select_one))
        library.statement_s = 0.0
        asked.append(_seconds(lambda subject=subject: way(subject)))  # type: ignore[misc]
        looked_up.append(library.statement_s)
    return plain, looked_up, asked


def _checks(section: Section, library: Library, ticker: Ticker) -> None:
    ticker.tick("checks")
    strangers = [f"{number}@stranger.example" for number in range(CHECKED)]
    many = (library.stopped * CHECKED)[: CHECKED // 2] + strangers[: CHECKED // 2]
    one, thousand = [], []
    for turn in range(PAGES + 1):
        address = library.stopped[turn % len(library.stopped)]
        alone = _seconds(lambda: library.ask("POST", "/v1/suppressions/check", body={"addresses": [address]}))  # noqa: B023
        together = _seconds(lambda: library.ask("POST", "/v1/suppressions/check", body={"addresses": many}))
        if turn:
            one.append(alone)
            thousand.append(together)
    ratios = [together / alone for together, alone in zip(thousand, one, strict=True)]
    section.add(f"a check of {CHECKED:,} addresses over a check of one", ratios, must=("<=", CHECK_BOUND))


def _pages(section: Section, library: Library, ticker: Ticker) -> None:
    until = quote(NOW.isoformat())
    first = json.loads(library.ask("GET", "/v1/messages")["body"])
    group = json.loads(library.ask("GET", "/v1/dead-letters")["body"])["groups"][0]["group_id"]
    asked = {
        "the newest messages": ("/v1/messages", ""),
        "a later page of messages": ("/v1/messages", f"cursor={first['next']}"),
        "messages that bounced": ("/v1/messages", "status=bounced"),
        "messages of a rare source": ("/v1/messages", "source=rare"),
        "messages of a recipient": ("/v1/messages", f"recipient={library.recipients[0]}"),
        "suppressions": ("/v1/suppressions", ""),
        "groups of dead letters": ("/v1/dead-letters", ""),
        "a page of dead letters": ("/v1/dead-letters", f"group={group}"),
        "counts of statuses": ("/v1/statuses/counts", ""),
        "a day by the hour": ("/v1/events/series", f"until={until}"),
    }
    for name, (path, query) in asked.items():
        ticker.tick(name)
        seconds = [_seconds(lambda path=path, query=query: library.ask("GET", path, query)) for _ in range(PAGES)]  # type: ignore[misc]
        section.add(name, [1000 * taken for taken in seconds], unit="ms")


def _seconds(work: Ask) -> float:
    began_at = perf_counter()
    work()
    return perf_counter() - began_at
