"""query: answers questions over HTTP, beside the webhooks and never at their cost."""

import json

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from infra.checks import acknowledge
from infra.database import Database
from infra.function import Function
from infra.layers import Layers
from infra.network import Network
from infra.receive import Receive
from infra.settings import Settings
from infra.sources import encode

#: The database role of this step; the migrations create it.
ROLE = "mailfold_query"

#: A statement may take 5 seconds (roles.sql), a cold start and a login come before it.
TIMEOUT = Duration.seconds(15)

#: Readers get this part of what the webhooks may have, all routes together.
SHARE = 10
#: Of that part, how much of the rate and of the burst each path gets, in hundredths. A browser asks for all files of
#: the console at once, and none of them takes a connection to the database.
PATHS = {
    "/v1/{proxy+}": (60, 22),
    "/healthz": (5, 3),
    "/console": (5, 3),
    "/console/{proxy+}": (30, 72),
}


class Query(Construct):
    """The function behind its routes of the one API."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        layers: Layers,
        network: Network,
        database: Database,
        receive: Receive,
        topics: dict[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Function",
            step="query",
            settings=settings,
            layers=layers,
            network=network,
            timeout=TIMEOUT,
            memory_mb=512,
            concurrency=settings.query_concurrency,
            environment={
                "SOURCES": encode(settings.sources),
                "TOPICS": json.dumps(topics, separators=(",", ":")),
                "DATABASE_URL": database.url(ROLE),
                "PUBLISH": json.dumps(settings.publish),
                "SOFT_LIMIT": str(settings.soft_bounce_limit),
                "RETENTION": json.dumps(dict(settings.retention), separators=(",", ":")),
            },
        )
        self.url = receive.api.api_endpoint
        self._add_routes(settings, receive)

    def _add_routes(self, settings: Settings, receive: Receive) -> None:
        integration = HttpLambdaIntegration("Query", self.function.function)
        for path in PATHS:
            # The function answers other methods itself, so that a caller learns 405 and not 404.
            methods = [apigatewayv2.HttpMethod.ANY]
            for route in receive.api.add_routes(path=path, methods=methods, integration=integration):
                acknowledge(
                    route,
                    {"AwsSolutions-APIG4": "The function knows its callers by token."},
                )
                # A stage cannot limit a route that is not there yet.
                receive.stage.node.add_dependency(route)
        receive.throttle(
            {
                f"ANY {path}": (_part(settings.throttle_rate, rate), _part(settings.throttle_burst, burst))
                for path, (rate, burst) in PATHS.items()
            }
        )


def _part(whole: int, hundredths: int) -> int:
    # A route with a limit of 0 would answer nothing at all.
    return max(1, whole * hundredths // (100 * SHARE))
