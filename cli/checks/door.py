"""The door from outside: it answers, and it stays shut for whoever proves nothing."""

import http.client
import ssl
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from cli.checks.examination import Examination, Finding, NotChecked, Said
from cli.secrets import takes_requests
from cli.vault import Vault
from mailfold.providers import REGISTRY

#: No longer than API Gateway itself waits.
TIMEOUT_SECONDS = 30


def call(url: str, method: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> int:
    """Send one request and return the status of its answer."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        tls = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=tls)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(method, parts.path, body, dict(headers or {}))
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as exc:
        raise NotChecked(f"{host} does not answer: {exc or type(exc).__name__}") from exc
    finally:
        connection.close()
    return answer.status


def check_door(exam: Examination) -> Iterator[Said]:
    """Knock without a proof, with the wrong method, and for nobody."""
    source = _source(exam)
    base = f"{exam.place.base_url}/webhooks"
    try:
        answers = {
            "a GET": (call(f"{base}/{source}", "GET"), 405),
            "a request for no source": (call(f"{base}/no-such-source", "POST", b"{}"), 404),
            "an unsigned request": (call(f"{base}/{source}", "POST", b"{}"), 401),
        }
    except NotChecked as exc:
        fix = "look whether the stack is deployed, and whether this machine reaches the internet"
        yield Finding(what=f"the door cannot be reached: {exc}", fix=fix)
        return
    for what, (status, expected) in answers.items():
        if status != expected:
            yield Finding(
                what=f"{what} to {source} is answered {status}, not {expected}",
                fix="read the log of receive; 200 would mean that anybody is believed: disable the API's stage at once"
                if status == 200
                else "read the log of receive, which has the reason",
            )


def _source(exam: Examination) -> str:
    """Name a source that answers a GET with 405 and has a secret, without which the door is shut for everybody."""
    held = Vault(exam.place.aws("secretsmanager"), exam.place.output("SecretArn")).read()
    for name, source in exam.sources.items():
        if takes_requests(source) and REGISTRY[source["provider"]].probe is None and held.of(name):
            return name
    raise NotChecked("no source has a secret")
