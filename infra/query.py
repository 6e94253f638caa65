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

PATHS = ("/v1/{proxy+}", "/healthz", "/console", "/console/{proxy+}")
#: Readers get this part of what the webhooks may have. Each request at once may mean a connection more, and the
#: smallest database has some eighty.
SHARE = 10


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
            [f"ANY {path}" for path in PATHS],
            rate=max(1, settings.throttle_rate // SHARE),
            burst=max(1, settings.throttle_burst // SHARE),
        )
