"""The ways in which frameworks, proxies and captures change a body without changing what it says."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

#: Where something was added to a body or taken from it.
ENDS = {"": b"", ", with LF at its end": b"\n", ", with CR LF at its end": b"\r\n"}
LAYOUTS: dict[str, dict[str, Any]] = {
    "compact JSON": {"separators": (",", ":")},
    "JSON with spaces": {"separators": (", ", ": ")},
    "JSON indented by 2": {"indent": 2},
    "JSON indented by 4": {"indent": 4},
}


def reencodings(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each other way to encode the body, with words for it that follow "it verifies"."""
    seen = {body}
    for name, other in (*_bytewise(body), *_jsonwise(body)):
        if other not in seen:
            seen.add(other)
            yield name, other


def _bytewise(body: bytes) -> Iterator[tuple[str, bytes]]:
    yield "with CR LF at its end", body + b"\r\n"
    yield "with LF at its end", body + b"\n"
    yield "without the line end at its end", body.rstrip(b"\r\n")
    yield "without the spaces around it", body.strip()
    yield "with CR LF for each LF", re.sub(rb"(?<!\r)\n", b"\r\n", body)
    yield "with LF for each CR LF", body.replace(b"\r\n", b"\n")
    yield "without its byte order mark", body.removeprefix(b"\xef\xbb\xbf")
    with suppress(ValueError):
        yield "decoded from base64", base64.b64decode(body, validate=True)
    with suppress(ValueError):
        yield "once it is no longer encoded to UTF-8 twice", body.decode().encode("latin-1")


def _jsonwise(body: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return
    for (layout, options), ascii_only, slashes in product(LAYOUTS.items(), (False, True), (False, True)):
        name = f"as {layout}{', other characters escaped' * ascii_only}{', slashes escaped' * slashes}"
        text = _text(document, ascii_only, slashes, options)
        for end, tail in ENDS.items():
            yield name + end, text + tail
        if isinstance(document, list) and "indent" not in options:
            rows = b",\r\n".join(_text(item, ascii_only, slashes, options) for item in document)
            yield f"{name}, one event per line with CR LF", b"[" + rows + b"]\r\n"


def _text(document: Any, ascii_only: bool, slashes: bool, options: dict[str, Any]) -> bytes:
    text = json.dumps(document, ensure_ascii=ascii_only, **options)
    return (text.replace("/", "\\/") if slashes else text).encode("utf-8", "surrogatepass")
