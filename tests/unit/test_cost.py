"""What a month costs: the prices on the page, and the arithmetic over them."""

import math
from dataclasses import fields, replace

import pytest

from bench import bill, prices
from bench.bill import MILLION, Knobs, Load, PerBatch, PerRequest
from bench.cost import INSTANCES, Month, report
from bench.prices import Prices
from bench.quantities import access_line, deployed_knobs, metrics_of

KNOBS = Knobs(receive_mb=512, process_mb=1024, batch_size=500, batch_window_s=1)
REQUEST = PerRequest(body_bytes=1_000, record_bytes=(1_200,), cpu_s=0.001, wait_s=0.01, log_bytes=1_000)
BATCH = PerBatch(cpu_s=0.01, wait_s=0.01, log_bytes=500)


@pytest.fixture(scope="module")
def listed() -> Prices:
    return prices.read()


def test_the_page_has_every_price_and_an_instance_for_every_load(listed: Prices) -> None:
    assert all(getattr(listed, field.name) for field in fields(Prices))
    assert set(INSTANCES.values()) <= listed.rds_hour.keys()


def test_a_price_for_a_million_is_read_as_a_price_for_one(listed: Prices) -> None:
    assert math.isclose(listed.api_request * MILLION, 1.00)
    assert math.isclose(listed.secret_read * 10_000, 0.05)
    assert math.isclose(listed.log_gb, 0.50)


def test_a_page_without_one_of_the_prices_is_refused() -> None:
    rows = prices.PAGE.read_text().replace("`sqs_request`", "sqs_request")

    with pytest.raises(TypeError, match="sqs_request"):
        prices.parse(rows)


def test_work_takes_longer_on_a_part_of_a_core_and_waiting_does_not() -> None:
    assert bill.billed_s(0.010, 0.0, memory_mb=bill.MB_PER_VCPU // 2) == pytest.approx(0.021)
    assert bill.billed_s(0.0, 0.010, memory_mb=128) == pytest.approx(0.010)


def test_a_record_is_sent_received_and_deleted_and_calls_are_shared() -> None:
    assert bill.sqs_calls(REQUEST, batch=1) == 3
    assert bill.sqs_calls(REQUEST, batch=500) == pytest.approx(1.2)
    large = replace(REQUEST, record_bytes=(60_000,) * 10)
    assert bill.sqs_calls(large, batch=500) == pytest.approx(10 + 10 + 1)


def test_a_batch_holds_what_comes_in_its_window_and_never_less_than_one() -> None:
    assert bill.records_per_batch(Load(events=MILLION, events_per_request=1), REQUEST, KNOBS) == 1
    much = Load(events=10_000 * MILLION, events_per_request=1)
    assert bill.records_per_batch(much, REQUEST, KNOBS) == 500
    assert bill.records_per_batch(much, replace(REQUEST, record_bytes=(60_000,)), KNOBS) == 100


def test_api_gateway_is_cheaper_beyond_its_tier(listed: Prices) -> None:
    assert bill.api_dollars(listed, 300 * MILLION) == pytest.approx(300)
    assert bill.api_dollars(listed, 400 * MILLION) == pytest.approx(390)


def test_the_report_has_a_line_for_each_load(listed: Prices) -> None:
    load = Load(events=MILLION, events_per_request=10)
    parts = bill.monthly(listed, load, REQUEST, BATCH, KNOBS)
    month = Month(load=load, parts=parts, instance="t4g.micro", database=(11.5, 2.3))

    text = report([month], 1.0, listed)

    assert month.per_million == pytest.approx(sum(parts.values()))
    assert "1,000,000" in text
    assert "12 t4g.micro + 2 storage" in text


def test_what_is_deployed_is_what_is_priced() -> None:
    knobs = deployed_knobs()

    assert (knobs.receive_mb, knobs.process_mb, knobs.batch_size) == (512, 1024, 500)
    assert "$context" not in access_line()


def test_a_metric_is_paid_for_by_name_and_dimensions() -> None:
    line = (
        '{"_aws": {"CloudWatchMetrics": [{"Dimensions": [["service"], ["service", "source"]],'
        ' "Metrics": [{"Name": "EventsNew"}]}]}, "service": "process", "source": "main"}'
    )

    assert metrics_of(line) == {("EventsNew", "process"), ("EventsNew", "process", "main")}
