"""The two things receive may fetch: a signing certificate, and the link that confirms a subscription."""

import ssl
from collections import OrderedDict
from contextlib import closing
from http.client import HTTPException, HTTPSConnection
from urllib.parse import SplitResult, urlsplit

from mailfold.errors import FetchFailed

TIMEOUT_S = 3
LARGEST_BYTES = 64 * 1024
CACHED_CERTIFICATES = 16


class Fetcher:
    """Fetches what an adapter has pinned to its provider's own host; certificates are kept, failures never."""

    def __init__(self) -> None:
        self._certificates: OrderedDict[str, str] = OrderedDict()

    def certificate(self, url: str) -> str:
        """Return the certificate at a pinned address."""
        if url not in self._certificates:
            text = self.get(url)
            if "BEGIN CERTIFICATE" not in text:
                raise FetchFailed("the provider's certificate is none")
            self._certificates[url] = text
            if len(self._certificates) > CACHED_CERTIFICATES:
                self._certificates.popitem(last=False)
        return self._certificates[url]

    def get(self, url: str) -> str:
        """Return a small document over verified TLS; redirects are failures."""
        try:
            status, body = _get(urlsplit(url))
        except (OSError, HTTPException, ValueError) as exc:
            raise FetchFailed(f"the provider's host did not answer: {type(exc).__name__}") from exc
        if status != 200 or len(body) > LARGEST_BYTES:
            raise FetchFailed(f"the provider's host answered {status}")
        return body.decode("utf-8", "replace")


def _get(parts: SplitResult) -> tuple[int, bytes]:
    if parts.scheme != "https":
        raise ValueError("only https is spoken")
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    connection = HTTPSConnection(parts.netloc, timeout=TIMEOUT_S, context=ssl.create_default_context())
    with closing(connection):
        connection.request("GET", target)
        answer = connection.getresponse()
        return answer.status, answer.read(LARGEST_BYTES + 1)
