"""The door: one route, throttled and logged, and a function that is told all it needs."""

import json
from pathlib import Path

from aws_cdk.assertions import Match

from infra.settings import Settings
from tests.infra.template import Synthesised, synthesise


def test_one_route_takes_every_method(stack: Synthesised) -> None:
    keys = [route["RouteKey"] for route in stack.all("AWS::ApiGatewayV2::Route").values()]

    assert [key for key in keys if "webhooks" in key] == ["ANY /webhooks/{source}"]
    stack.matcher.has_resource_properties(
        "AWS::ApiGatewayV2::Route", {"RouteKey": "ANY /webhooks/{source}", "AuthorizationType": "NONE"}
    )
    stack.matcher.has_resource_properties(
        "AWS::ApiGatewayV2::Integration", {"IntegrationType": "AWS_PROXY", "PayloadFormatVersion": "2.0"}
    )


def test_only_this_api_may_invoke_the_function(stack: Synthesised) -> None:
    function, _ = stack.function("receive")
    api, _ = stack.only("AWS::ApiGatewayV2::Api")
    (permission,) = (
        it
        for it in stack.all("AWS::Lambda::Permission").values()
        if it["FunctionName"] == {"Fn::GetAtt": [function, "Arn"]}
    )

    assert permission["Principal"] == "apigateway.amazonaws.com"
    assert {"Ref": api} in permission["SourceArn"]["Fn::Join"][1]
    assert permission["SourceArn"]["Fn::Join"][1][-1].endswith("/webhooks/{source}")


def test_the_stage_is_throttled(stack: Synthesised, tmp_path: Path) -> None:
    def limits(synthesised: Synthesised) -> dict[str, int]:
        return synthesised.only("AWS::ApiGatewayV2::Stage")[1]["DefaultRouteSettings"]

    other = synthesise(tmp_path, Settings(throttle_rate=7, throttle_burst=9))

    assert limits(stack) == {"ThrottlingRateLimit": 200, "ThrottlingBurstLimit": 400}
    assert limits(other) == {"ThrottlingRateLimit": 7, "ThrottlingBurstLimit": 9}


def test_the_access_log_is_json_and_holds_nothing_the_caller_wrote(stack: Synthesised) -> None:
    _, stage = stack.only("AWS::ApiGatewayV2::Stage")
    line = json.loads(stage["AccessLogSettings"]["Format"])

    assert stage["StageName"] == "$default"
    assert stage["AutoDeploy"] is True
    assert {"$context.requestId", "$context.status", "$context.routeKey"} <= set(line.values())
    assert "$context.integrationErrorMessage" in line.values()
    for leaking in ("path", "rawPath", "query", "userAgent", "requestOverride", "authorizer"):
        assert not any(leaking.lower() in value.lower() for value in line.values()), leaking
    log, _ = stage["AccessLogSettings"]["DestinationArn"]["Fn::GetAtt"]
    assert stack.resources[log]["Properties"]["RetentionInDays"] == 30


def test_the_function_is_outside_the_network_and_quick(stack: Synthesised) -> None:
    _, function = stack.function("receive")

    assert "VpcConfig" not in function
    assert function["Timeout"] == 10
    assert function["MemorySize"] == 512


def test_the_function_is_told_where_everything_is(stack: Synthesised) -> None:
    queue = next(name for name, it in stack.all("AWS::SQS::Queue").items() if "RedrivePolicy" in it)
    secret, _ = stack.only("AWS::SecretsManager::Secret")
    table, _ = stack.only("AWS::DynamoDB::Table")

    environment = stack.environment("receive")

    assert json.loads(environment.pop("SOURCES")) == Settings().sources
    assert environment == {
        "POWERTOOLS_SERVICE_NAME": "receive",
        "POWERTOOLS_METRICS_NAMESPACE": "Mailfold",
        "POWERTOOLS_LOG_LEVEL": "INFO",
        "QUEUE_URL": {"Ref": queue},
        "SECRET_ID": {"Ref": secret},
        "CLAIM_TABLE": {"Ref": table},
        "MAX_BODY_BYTES": "4000000",
    }


def test_the_claim_table_fits_powertools(stack: Synthesised) -> None:
    stack.matcher.has_resource(
        "AWS::DynamoDB::Table",
        {
            "DeletionPolicy": "Delete",
            "Properties": {
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "TimeToLiveSpecification": {"AttributeName": "expiration", "Enabled": True},
                "BillingMode": "PAY_PER_REQUEST",
                "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
                "SSESpecification": {"SSEEnabled": True},
                "ProvisionedThroughput": Match.absent(),
            },
        },
    )


def test_no_later_deploy_resets_the_secret(stack: Synthesised, tmp_path: Path) -> None:
    other = synthesise(tmp_path, Settings(sources={"eu": {"provider": "sendgrid"}}, log_level="DEBUG"))
    name, secret = stack.only("AWS::SecretsManager::Secret")

    assert secret["SecretString"] == "{}"
    assert "GenerateSecretString" not in secret
    assert other.resources[name] == stack.resources[name]
    assert stack.resources[name]["DeletionPolicy"] == "Retain"
