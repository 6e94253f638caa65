"""Connections of the local tools to the local database."""

from urllib.parse import urlsplit

import pg8000.native


def connect(dsn: str, *, user: str | None = None) -> pg8000.native.Connection:
    """Connect to the database that a URL names, as its user or another one; the local server trusts everybody."""
    parts = urlsplit(dsn)
    return pg8000.native.Connection(
        user or parts.username or "",
        host=parts.hostname,
        port=parts.port or 5432,
        database=parts.path.lstrip("/"),
        timeout=60,
    )
