"""The readers' way in: routes of their own on the one API, slower than the door, and a function inside the network."""

import json
from pathlib import Path

from infra.settings import Settings
from tests.infra.template import ROOT, Synthesised, rendered, synthesise

CONSOLE = ROOT / "layers/mailfold/python/mailfold/console"
ROUTES = ["ANY /console", "ANY /console/{proxy+}", "ANY /healthz", "ANY /v1/{proxy+}"]


def routes(stack: Synthesised) -> dict[str, str]:
    """Return each route of the query function, with its logical id."""
    function, _ = stack.function("query")
    integrations = {
        name for name, it in stack.all("AWS::ApiGatewayV2::Integration").items() if function in json.dumps(it)
    }
    return {
        it["RouteKey"]: name
        for name, it in stack.all("AWS::ApiGatewayV2::Route").items()
        if any(integration in json.dumps(it["Target"]) for integration in integrations)
    }


def test_the_routes_lead_to_the_function(stack: Synthesised) -> None:
    assert sorted(routes(stack)) == ROUTES


def test_readers_cannot_starve_the_door(stack: Synthesised, tmp_path: Path) -> None:
    def limits(synthesised: Synthesised) -> dict[str, dict[str, int]]:
        return synthesised.only("AWS::ApiGatewayV2::Stage")[1]["RouteSettings"]

    least = synthesise(tmp_path, Settings(throttle_rate=1, throttle_burst=1))

    shown = limits(stack)
    assert sorted(shown) == ROUTES
    # A tenth of what the webhooks may have, all routes together.
    assert sum(it["ThrottlingRateLimit"] for it in shown.values()) <= 20
    assert sum(it["ThrottlingBurstLimit"] for it in shown.values()) <= 40
    # A browser asks for every file of the console at once.
    files = len(list(CONSOLE.iterdir())) - 1
    assert shown["ANY /console/{proxy+}"]["ThrottlingBurstLimit"] >= files > 20
    assert limits(least) == {key: {"ThrottlingRateLimit": 1, "ThrottlingBurstLimit": 1} for key in ROUTES}


def test_the_limits_are_set_after_the_routes_are_there(stack: Synthesised) -> None:
    name, _ = stack.only("AWS::ApiGatewayV2::Stage")

    assert {*routes(stack).values()} <= {*stack.resources[name]["DependsOn"]}


def test_only_this_api_may_invoke_the_function(stack: Synthesised) -> None:
    function, _ = stack.function("query")
    api, _ = stack.only("AWS::ApiGatewayV2::Api")
    permissions = [
        it
        for it in stack.all("AWS::Lambda::Permission").values()
        if it["FunctionName"] == {"Fn::GetAtt": [function, "Arn"]}
    ]

    assert len(permissions) == len(ROUTES)
    for permission in permissions:
        assert permission["Principal"] == "apigateway.amazonaws.com"
        assert {"Ref": api} in permission["SourceArn"]["Fn::Join"][1]


def test_the_function_has_time_for_its_longest_statement(stack: Synthesised) -> None:
    _, function = stack.function("query")

    assert "VpcConfig" in function
    assert (function["Timeout"], function["MemorySize"]) == (15, 512)


def test_the_function_logs_in_as_its_own_role(stack: Synthesised) -> None:
    assert rendered(stack.environment("query")["DATABASE_URL"]).startswith("postgresql://mailfold_query@")


def test_the_outputs_say_where_to_ask(stack: Synthesised) -> None:
    outputs = stack.template["Outputs"]

    assert rendered(outputs["QueryUrl"]["Value"]) == "stand-in/v1"
    assert rendered(outputs["ConsoleUrl"]["Value"]) == "stand-in/console"


def test_its_concurrency_is_reserved_only_where_the_settings_say_so(stack: Synthesised, tmp_path: Path) -> None:
    reserved = synthesise(tmp_path, Settings(query_concurrency=9))

    assert "ReservedConcurrentExecutions" not in stack.function("query")[1]
    assert reserved.function("query")[1]["ReservedConcurrentExecutions"] == 9
    assert "ReservedConcurrentExecutions" not in reserved.function("process")[1]
