"""The real query function on a test's database, asked the way API Gateway asks it."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from local.testing.events import question_event
from local.testing.handlers import Context, load_handler
from mailfold.store.connection import Database
from mailfold.tokens import new_token, token_hash
from tests.support.records import SOURCES, TOPICS


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a caller sees."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


def reply_of(answer: Mapping[str, Any]) -> Reply:
    """Return what API Gateway sends of a function's answer."""
    content = answer["body"].encode()
    return Reply(
        status=answer["statusCode"],
        headers=answer["headers"],
        content=base64.b64decode(content) if answer["isBase64Encoded"] else content,
    )


@dataclass(kw_only=True)
class Reader:
    """Asks with a token of its own."""

    module: Any
    owner: Database
    token: str = ""
    tokens: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **query: Any) -> Any:
        """Ask and insist on an answer."""
        reply = self.ask("GET", path, query={name: _text(value) for name, value in query.items()})
        assert reply.status == 200, (reply.status, reply.content)
        return reply.body

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | str = "",
        body: Any = None,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        source_ip: str = "192.0.2.1",
    ) -> Reply:
        """Ask; `token` is another one, or "" for none."""
        given = self.token if token is None else token
        sent = {**({"Authorization": f"Bearer {given}"} if given else {}), **(headers or {})}
        string = query if isinstance(query, str) else urlencode(query, quote_via=quote)
        text = body if isinstance(body, str | None) else json.dumps(body)
        answer = self.module.handler(
            question_event(method, path, string, sent, (text or "").encode(), source_ip=source_ip), Context()
        )
        return reply_of(answer)

    def make_token(
        self,
        name: str,
        *scopes: str,
        sources: tuple[str, ...] | None = None,
        expires: str = "null",
        revoked: str = "null",
    ) -> str:
        """Store a token and return it."""
        token = new_token()
        listed = ", ".join(f"'{scope}'" for scope in scopes)
        bound = "null" if sources is None else "'{" + ",".join(sources) + "}'"
        self.owner.execute(
            f"insert into api_tokens (name, token_hash, scopes, sources, created_at, expires_at, revoked_at) "
            f"values ('{name}', '{token_hash(token)}', array[{listed}]::text[], {bound}, now(), {expires}, {revoked})"
        )
        self.tokens[name] = token
        return token

    def close(self) -> None:
        self.module.database.close()


def make_reader(monkeypatch: pytest.MonkeyPatch, *, url: str, owner: Database) -> Reader:
    """Load the function and give it a token that may do everything."""
    environment = {
        "SOURCES": json.dumps({name: {"provider": source.provider} for name, source in SOURCES.items()}),
        "TOPICS": json.dumps(TOPICS),
        "DATABASE_URL": url,
        "PUBLISH": "true",
        "SOFT_LIMIT": "5",
        "RETENTION": "{}",
    }
    reader = Reader(module=load_handler("query", monkeypatch, environment), owner=owner)
    # Tests ask faster than people do; what the limits are worth has a test of its own.
    reader.module.query_context.request_rate.burst = reader.module.query_context.wrong_token_rate.burst = 1_000_000
    reader.token = reader.make_token("ann", "raw", "operate")
    return reader


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
