"""Telemetry: metrics under their agreed names, and facts only."""

import json
from typing import Any

import pytest

from local.testing.handlers import show_log
from mailfold.telemetry import METRICS, SUMMED, UNITS, Telemetry
from tests.support.blobs import metrics, of


@pytest.fixture(autouse=True)
def _namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Mailfold")


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def unit(metric: str) -> str:
    """Read from a metric's own name what it is measured in."""
    if "Percent" in metric:
        return "Percent"
    return "Seconds" if "Seconds" in metric or metric.endswith("Age") else "Count"


@pytest.mark.parametrize("step", METRICS)
def test_each_metric_is_printed_in_the_embedded_format_under_its_name(
    capsys: pytest.CaptureFixture[str], step: str
) -> None:
    telemetry = Telemetry(step)
    for number, metric in enumerate(METRICS[step]):
        telemetry.count(metric, number)

    telemetry.flush()

    [blob] = printed(capsys)
    [directive] = blob["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Mailfold"
    assert directive["Dimensions"] == [["service"]]
    assert {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]} == {
        metric: unit(metric) for metric in METRICS[step]
    }
    assert [blob[metric] for metric in METRICS[step]] == [[float(number)] for number in range(len(METRICS[step]))]
    assert blob["service"] == step


def test_each_source_has_a_blob_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry = Telemetry("receive")
    telemetry.count("EventsReceived", 2, source="main")
    telemetry.count("EventsReceived", 3, source="main")
    telemetry.count("EventsReceived", 7, source="second")
    telemetry.count("RequestsRefused")

    telemetry.flush()

    blobs = {blob.get("source"): blob for blob in printed(capsys)}
    assert set(blobs) == {"main", "second", None}
    assert (blobs["main"]["EventsReceived"], blobs["second"]["EventsReceived"]) == ([5.0], [7.0])
    assert "EventsReceived" not in blobs[None]


def test_what_alarms_watch_in_sum_is_counted_without_its_source_too(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry = Telemetry("receive")
    telemetry.count("VerificationFailed", 2, source="main")
    telemetry.count("VerificationFailed", 3, source="second")
    telemetry.count("VerificationFailed")

    telemetry.flush()

    assert metrics(capsys.readouterr().out) == {
        of("receive", "VerificationFailed", "main"): 2,
        of("receive", "VerificationFailed", "second"): 3,
        of("receive", "VerificationFailed"): 6,
    }


def test_a_measure_is_what_it_was_last_and_of_nobody_else(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry = Telemetry("watch")
    telemetry.measure("ComplaintPercentDay", 0.4, source="main")
    telemetry.measure("ComplaintPercentDay", 0.25, source="main")

    telemetry.flush()

    assert metrics(capsys.readouterr().out) == {of("watch", "ComplaintPercentDay", "main"): 0.25}


def test_only_metrics_that_exist_have_a_unit_or_a_sum() -> None:
    assert UNITS.keys() | SUMMED <= {metric for names in METRICS.values() for metric in names}


def test_counts_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry = Telemetry("prune")
    telemetry.count("RowsPruned", 5)
    telemetry.flush()
    capsys.readouterr()

    telemetry.flush()

    assert printed(capsys) == []


def test_a_metric_that_nobody_agreed_on_is_an_error() -> None:
    with pytest.raises(KeyError):
        Telemetry("receive").count("EventsNew")
    with pytest.raises(KeyError):
        Telemetry("receive").measure("OutboxAge", 1)


def test_a_line_holds_its_facts_and_its_step(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry = Telemetry("receive")
    show_log("receive")

    telemetry.say("confirmed", source="main")
    telemetry.warn("refused", source=None, status=401)

    said, warned = printed(capsys)
    assert (said["level"], said["message"], said["source"]) == ("INFO", "confirmed", "main")
    assert (warned["level"], warned["message"], warned["status"]) == ("WARNING", "refused", 401)
    assert said["service"] == warned["service"] == "receive"
