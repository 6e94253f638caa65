"""The dashboard: something about every step, and nothing that is never measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.settings import Settings
from mailfold.telemetry import METRICS
from tests.infra.template import STEPS, Synthesised, synthesise
from tests.infra.test_alarms import MEASURED_BY_AWS
from tests.support.blobs import Printed


@pytest.fixture(scope="module")
def publishing(tmp_path_factory: pytest.TempPathFactory) -> Synthesised:
    """The stack with every step that there is."""
    return synthesise(tmp_path_factory.mktemp("publishing"), Settings(publish=True))


def written(value: Any) -> str:
    """Write the body out, with the logical id of whatever only a deploy can know."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return str(separator.join(written(part) for part in parts))
        case {"Ref": name} | {"Fn::GetAtt": [name, _]}:
            return str(name)
        case _:
            return str(value)


def widgets(stack: Synthesised) -> list[dict[str, Any]]:
    _, dashboard = stack.only("AWS::CloudWatch::Dashboard")
    return list(json.loads(written(dashboard["DashboardBody"]))["widgets"])


def graphed(stack: Synthesised) -> list[tuple[str, str, dict[str, str]]]:
    """Every line of every graph: its namespace, name and dimensions."""
    lines = [line for widget in widgets(stack) for line in widget["properties"]["metrics"]]
    plain = [[part for part in line if isinstance(part, str)] for line in lines]
    return [(line[0], line[1], dict(zip(line[2::2], line[3::2], strict=True))) for line in plain]


def test_there_is_a_graph_for_every_step(publishing: Synthesised, stack: Synthesised) -> None:
    def titled(of: Synthesised) -> set[str]:
        return {widget["properties"]["title"].partition(":")[0] for widget in widgets(of)}

    assert titled(publishing) == {*METRICS, "The queue", "The database"}
    assert titled(stack) == {*STEPS, "The queue", "The database"}


def test_a_graph_shows_only_metrics_of_the_step_in_its_title(publishing: Synthesised) -> None:
    for widget in widgets(publishing):
        step = widget["properties"]["title"].partition(":")[0]
        own = [line for line in widget["properties"]["metrics"] if line[0] == "Mailfold"]
        assert {line[line.index("service") + 1] for line in own} <= {step}


def test_our_own_metrics_are_ones_that_the_code_prints(publishing: Synthesised, printed: frozenset[Printed]) -> None:
    own = {Printed(name, frozenset(found.items())) for space, name, found in graphed(publishing) if space == "Mailfold"}

    assert own
    assert own - printed == set()


def test_what_aws_measures_is_of_this_stack(publishing: Synthesised) -> None:
    for namespace, name, found in graphed(publishing):
        if namespace != "Mailfold":
            dimension, kind, names = MEASURED_BY_AWS[namespace]
            assert name in names
            assert found.keys() == {dimension}
            assert publishing.resources[found[dimension]]["Type"] == kind


def test_it_grows_with_the_sources(tmp_path: Path) -> None:
    sources = {name: {"provider": "sendgrid"} for name in ("eu", "us")}

    found = graphed(synthesise(tmp_path, Settings(sources=sources)))

    assert {dimensions["source"] for _, _, dimensions in found if "source" in dimensions} == {"eu", "us"}


def test_no_graph_lies_on_another(publishing: Synthesised) -> None:
    cells = [
        (widget["x"] + column, widget["y"] + row)
        for widget in widgets(publishing)
        for column in range(widget["width"])
        for row in range(widget["height"])
    ]

    assert len(cells) == len(set(cells))
    assert max(column for column, _ in cells) < 24
