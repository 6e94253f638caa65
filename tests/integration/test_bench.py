"""The benchmarks compare like with like: every way stores what it was given."""

from collections.abc import Iterator

import pytest

from bench import baselines, fold
from bench import query as query_part
from bench.lab import Lab
from bench.progress import Ticker
from bench.traffic import Traffic, envelopes
from local.postgres import PostgresServer

SMALL = {"ROUNDS": 1, "EVENTS": 30, "RECORDS": 5, "SAMPLE": 5}


@pytest.fixture(scope="module")
def lab(postgres_server: PostgresServer) -> Iterator[Lab]:
    """A lab on the tests' server."""
    lab = Lab(postgres_server)
    yield lab
    lab.close()


def test_every_way_stores_the_same_events(lab: Lab) -> None:
    traffic = Traffic(seed=7)
    with fold._bench(lab, lab.server.port) as bench:
        bench.owner.execute("truncate email_events")
        raws = traffic.events(40)
        events = [event for raw in raws for event in baselines.parse(raw)]

        bench.naive.consume(raws)
        bench.per_record.consume([text for raw in raws[:20] for text in envelopes([raw])])
        bench.server_alone.stage(events[20:])
        bench.server_alone.fold()
        baselines.copy_rows(bench.owner, "copied", events)

        assert bench.owner.execute("select count(*) from naive_events") == [[40]]
        assert bench.owner.execute("select count(*) from record_claims where status = 'COMPLETED'") == [[20]]
        assert bench.owner.execute("select count(*) from email_events") == [[40]]
        columns = "event_id, fingerprint"
        others = f"select {columns}, payload from email_events except select {columns}, raw from copied"
        assert bench.owner.execute(others) == []


def test_the_whole_part_runs_and_counts_the_same_round_trips_for_every_size(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SMALL.items():
        monkeypatch.setattr(fold, name, value)

    section = fold.measure(lab, Ticker("fold"))

    figures = {figure.name: figure for figure in section.figures}
    assert all(figure.value > 0 for figure in figures.values())
    assert figures["round trips per batch, from 1 to 5,000 events"].value == 5
    assert section.notes == []
    assert figures["a bare round trip through the delay"].value >= 1


def test_the_questions_are_asked_and_counted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ROWS": 20_000, "ROUNDS": 1, "LOOK_UPS": 5, "SUBJECTS": 5, "PAGES": 2}.items():
        monkeypatch.setattr(query_part, name, value)

    section = query_part.measure(lab, Ticker("query"))

    figures = {figure.name: figure for figure in section.figures}
    assert len(figures) == 24
    assert all(figure.value > 0 for figure in figures.values())
    looked_up = figures["p99 of looking up a message over p50 of select 1"]
    assert looked_up.value < figures["p99 of the whole answer for a message over p50 of select 1"].value
