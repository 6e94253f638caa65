"""Questions through the deployed template: the routes, the function, its role and its tokens."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from cli.local_aws import client
from cli.local_stack import Stack
from tests.e2e.support import await_that
from tests.e2e.test_pipeline import made, new_marker, send


@pytest.fixture(scope="module")
def token(stack: Stack) -> str:
    """A token that the operate function made."""
    arguments = {"name": "e2e", "scope": "operate", "replace": True}
    order = {"command": "tokens.add", "arguments": arguments, "by": "e2e"}
    answer = client("lambda", stack.aws_endpoint).invoke(
        FunctionName=stack.functions["operate"], Payload=json.dumps(order).encode()
    )
    return str(json.loads(answer["Payload"].read())["result"]["token"])


def ask(
    stack: Stack, path: str, token: str = "", *, method: str = "GET", body: Any = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    url = urlsplit(f"{stack.base_url}{path}")
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=30)
    sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **headers}
    try:
        target = url.path + (f"?{url.query}" if url.query else "")
        connection.request(method, target, None if body is None else json.dumps(body), sent)
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def test_without_a_token_only_the_health_and_the_shell_are_there(stack: Stack) -> None:
    statuses = {path: ask(stack, path)[0] for path in ("/healthz", "/console", "/v1/sources", "/v1/openapi.json")}

    assert statuses == {"/healthz": 200, "/console": 200, "/v1/sources": 401, "/v1/openapi.json": 401}


def test_the_shell_comes_with_its_type_and_its_policy(stack: Stack) -> None:
    status, headers, body = ask(stack, "/console", **{"accept-encoding": "gzip"})

    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert body
    assert ask(stack, "/console", **{"if-none-match": headers["etag"]})[0] == 304


def test_an_event_that_was_sent_is_found(stack: Stack, token: str) -> None:
    marker = new_marker()
    assert send(stack, made(stack, "sendgrid", marker)) == 200

    def newest() -> list[dict[str, Any]]:
        status, _, body = ask(stack, "/v1/messages?source=sendgrid&limit=5", token)
        assert status == 200
        return list(json.loads(body)["messages"])

    await_that(newest)
    message_id = newest()[0]["message_id"]
    assert json.loads(ask(stack, f"/v1/messages/{message_id}", token)[2])["recipients"]


def test_an_address_is_stopped_and_lifted_by_hand(stack: Stack, token: str) -> None:
    path = "/v1/suppressions/e2e%2Bplus@example.com"

    put = ask(stack, path, token, method="PUT", body={"reason": "test"})
    checked = ask(stack, "/v1/suppressions/check", token, method="POST", body={"addresses": ["E2E+plus@example.com"]})
    lifted = ask(stack, path, token, method="DELETE")

    assert json.loads(put[2]) == {"address": "e2e+plus@example.com", "scope": "", "suppressed": True}
    assert json.loads(checked[2])["results"][0]["suppressed"] is True
    assert json.loads(lifted[2])["suppressed"] is False
