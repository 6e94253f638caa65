"""receive: the door. Providers call it over HTTPS; it verifies and enqueues."""

import json
from collections.abc import Mapping

import jsii
from aws_cdk import Duration, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from infra.checks import acknowledge
from infra.claims import Claims
from infra.function import Function
from infra.layers import Layers
from infra.logs import log_group
from infra.queue import Queue
from infra.secret import Secret
from infra.settings import Settings
from infra.sources import encode

TIMEOUT = Duration.seconds(10)

# No body, no path, no query: a caller writes those, and they may hold an address. The function names the source.
# https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging-variables.html
ACCESS_LOG_FORMAT = json.dumps(
    {
        "request_id": "$context.requestId",
        "time": "$context.requestTime",
        "method": "$context.httpMethod",
        "route": "$context.routeKey",
        "status": "$context.status",
        "bytes_out": "$context.responseLength",
        "source_ip": "$context.identity.sourceIp",
        "latency_ms": "$context.responseLatency",
        "integration_status": "$context.integrationStatus",
        "integration_error": "$context.integrationErrorMessage",
    }
)


@jsii.implements(apigatewayv2.IAccessLogSettings)
class AccessLog:
    """Where the stage writes one line for each request, and what the line holds."""

    def __init__(self, *, destination: apigatewayv2.LogGroupLogDestination, line: apigateway.AccessLogFormat) -> None:
        self._destination = destination
        self._line = line

    @property
    def destination(self) -> apigatewayv2.LogGroupLogDestination:
        """Name the log group."""
        return self._destination

    @property
    def format(self) -> apigateway.AccessLogFormat:
        """Give the line's format."""
        return self._line


class Receive(Construct):
    """The HTTP API and the function behind it, which stays outside the network because it never needs Postgres."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        layers: Layers,
        queue: Queue,
        secret: Secret,
        claims: Claims,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Function",
            step="receive",
            settings=settings,
            layers=layers,
            timeout=TIMEOUT,
            memory_mb=512,
            environment={
                "SOURCES": encode(settings.sources),
                "SECRET_ID": secret.secret.secret_arn,
                "QUEUE_URL": queue.queue.queue_url,
                "CLAIM_TABLE": claims.table.table_name,
                "MAX_BODY_BYTES": str(settings.max_body_bytes),
            },
        )
        self.api = apigatewayv2.HttpApi(
            self,
            "Api",
            api_name=Stack.of(self).stack_name,
            description="Mailfold: webhooks, questions and the console",
            create_default_stage=False,
        )
        self._add_route()
        self.stage = self._add_stage(settings)

    def url(self, source: str) -> str:
        """Return the address a provider calls for this source."""
        return f"{self.api.api_endpoint}/webhooks/{source}"

    def _add_route(self) -> None:
        routes = self.api.add_routes(
            path="/webhooks/{source}",
            # The function answers other methods than POST itself, so that a caller learns 405 and not 404.
            methods=[apigatewayv2.HttpMethod.ANY],
            integration=HttpLambdaIntegration("Receive", self.function.function),
        )
        for route in routes:
            acknowledge(
                route, {"AwsSolutions-APIG4": "Each request is signed by its provider; the function verifies it."}
            )

    def throttle(self, limits: Mapping[str, tuple[int, int]]) -> None:
        """Give each of these routes a rate and a burst of its own."""
        stage = self.stage.node.default_child
        assert isinstance(stage, apigatewayv2.CfnStage)
        settings = {
            route: {"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": burst}
            for route, (rate, burst) in limits.items()
        }
        stage.add_property_override("RouteSettings", settings)

    def _add_stage(self, settings: Settings) -> apigatewayv2.HttpStage:
        return apigatewayv2.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigatewayv2.ThrottleSettings(
                rate_limit=settings.throttle_rate, burst_limit=settings.throttle_burst
            ),
            access_log_settings=AccessLog(
                destination=apigatewayv2.LogGroupLogDestination(log_group(self, "AccessLog", settings=settings)),
                line=apigateway.AccessLogFormat.custom(ACCESS_LOG_FORMAT),
            ),
        )
