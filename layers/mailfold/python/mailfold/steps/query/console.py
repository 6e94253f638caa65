"""The console's static files: a fixed list of names, read once."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from mailfold.steps.query.response import Response, refusal

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webmanifest": "application/manifest+json",
}
INDEX = "index.html"
HEADERS = {
    # Asked for again each time, and answered with 304 as long as it is the same.
    "cache-control": "no-cache",
    "vary": "accept-encoding",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
        # Browsers that know it refuse every way to turn a text into markup or a program.
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}


@dataclass(frozen=True, kw_only=True)
class File:
    """One file, ready to be sent."""

    content: bytes
    packed: bytes
    content_type: str
    etag: str


@cache
def listing() -> Mapping[str, File]:
    """Return every file by its name; nothing else can be asked for."""
    found = {}
    for entry in files("mailfold").joinpath("console").iterdir():
        suffix = "." + entry.name.rpartition(".")[2]
        if suffix in TYPES and entry.is_file():
            found[entry.name] = _file(entry.read_bytes(), TYPES[suffix])
    return found


def serve(path: str, headers: Mapping[str, str]) -> Response:
    """Answer with the file of a path under /console, or with the way to the shell."""
    name = path.removeprefix("/console").removeprefix("/")
    if path == "/console/":
        # The shell names its files relative to /console, also where the API lies below some prefix.
        return Response(status=308, content=b"", headers={**HEADERS, "location": "../console"})
    file = listing().get(name or INDEX)
    if file is None:
        return refusal(404, "there is no such file")
    common = {**HEADERS, "etag": file.etag}
    if file.etag in [tag.strip().removeprefix("W/") for tag in headers.get("if-none-match", "").split(",")]:
        return Response(status=304, content=b"", headers=common)
    common["content-type"] = file.content_type
    if "gzip" in headers.get("accept-encoding", "") and len(file.packed) < len(file.content):
        return Response(content=file.packed, headers={**common, "content-encoding": "gzip"})
    return Response(content=file.content, headers=common)


def _file(content: bytes, content_type: str) -> File:
    return File(
        content=content,
        # Without a time in it, so that every environment sends the same bytes.
        packed=gzip.compress(content, mtime=0),
        content_type=content_type,
        etag=f'"{sha256(content).hexdigest()[:20]}"',
    )
