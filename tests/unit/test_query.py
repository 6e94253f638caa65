"""The parts of query that need no database: limits, static files, cursors, the document."""

import gzip
import json
from pathlib import Path

import pytest

from mailfold.errors import BadRequest
from mailfold.steps.query import console
from mailfold.steps.query.cursors import seal, unseal
from mailfold.steps.query.limits import Buckets
from mailfold.steps.query.openapi import document
from mailfold.steps.query.routes import ROUTES
from mailfold.tokens import is_token, new_token, token_hash

ROOT = Path(__file__).parents[2]


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    now = 0.0
    bucket = Buckets(per_second=2, burst=3, clock=lambda: now)

    def taken() -> bool:
        if bucket.wait_s("a"):
            return False
        bucket.take("a")
        return True

    at_once = [taken() for _ in range(5)]
    now = 1.0
    after_a_second = [taken() for _ in range(4)]

    assert at_once == [True, True, True, False, False]
    assert after_a_second == [True, True, False, False]
    assert bucket.wait_s("a") == 1
    assert bucket.wait_s("b") == 0


def test_names_that_are_not_seen_again_are_forgotten() -> None:
    bucket = Buckets(per_second=1, burst=1, most_names=2, clock=lambda: 0.0)

    for name in "abc":
        bucket.take(name)

    assert [bucket.wait_s(name) for name in "abc"] == [0, 1, 1]


def test_a_cursor_comes_back_as_it_was() -> None:
    place = ("10:12:11", "2026-01-01T00:00:00+00:00", "ä\u2028x")

    assert unseal(seal({"a": "1"}, *place), {"a": "1", "b": None}, "stx") == list(place)


@pytest.mark.parametrize(
    ("place", "shape"),
    [
        (("10:12:11; select",), "s"),
        (("yesterday",), "t"),
        (("2026-01-01T00:00:00",), "t"),
        (("infinity",), "t"),
        (("\x00",), "x"),
        (("a", "b"), "x"),
    ],
)
def test_a_place_of_another_shape_is_refused(place: tuple[str, ...], shape: str) -> None:
    with pytest.raises(BadRequest):
        unseal(seal({}, *place), {}, shape)


def test_tokens_are_random_and_known_by_their_digest() -> None:
    one, other = new_token(), new_token()

    assert one != other
    assert is_token(one)
    assert len(token_hash(one)) == 64
    assert token_hash(one) != token_hash(other)


class TestConsole:
    """The static files."""

    def test_the_shell_is_served_strictly(self) -> None:
        answer = console.serve("/console", {})

        assert answer.content == (ROOT / "layers/mailfold/python/mailfold/console/index.html").read_bytes()
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= {*policy.split("; ")}
        assert "unsafe" not in policy

    def test_it_is_packed_for_whoever_can_unpack(self, monkeypatch: pytest.MonkeyPatch) -> None:
        file = console._file(b"a" * 5_000, "text/css")
        monkeypatch.setattr(console, "listing", lambda: {"app.css": file})

        packed = console.serve("/console/app.css", {"accept-encoding": "br, gzip"})
        plain = console.serve("/console/app.css", {})

        assert packed.headers["content-encoding"] == "gzip"
        assert packed.content is not None
        assert gzip.decompress(packed.content) == plain.content == b"a" * 5_000
        assert "content-encoding" not in plain.headers

    def test_who_has_it_is_not_sent_it_again(self) -> None:
        etag = console.serve("/console", {}).headers["etag"]

        again = console.serve("/console", {"if-none-match": f'"other", W/{etag}'})
        other = console.serve("/console", {"if-none-match": '"other"'})

        assert (again.status, again.content, again.headers["etag"]) == (304, b"", etag)
        assert other.status == 200

    def test_the_folder_leads_to_the_shell(self) -> None:
        answer = console.serve("/console/", {})

        assert (answer.status, answer.headers["location"]) == (308, "../console")

    def test_only_known_kinds_of_files_are_listed(self) -> None:
        assert "index.html" in console.listing()
        assert not [name for name in console.listing() if name.endswith(".py")]


def test_the_committed_document_is_what_the_routes_say() -> None:
    committed = (ROOT / "docs/openapi.json").read_text()

    assert committed == json.dumps(document(ROUTES), indent=2) + "\n", "run: make openapi"


def test_every_route_is_in_the_document() -> None:
    paths = document(ROUTES)["paths"]

    assert {(route.path, route.method.lower()) for route in ROUTES} == {
        (path, method) for path, methods in paths.items() for method in methods
    }
