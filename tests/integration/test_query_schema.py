"""The document of the query API and its answers agree, for whatever can be asked: schemathesis asks it."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.conftest import Workshop
from tests.support.http_door import decoded, served
from tests.support.reader import Reader
from tests.support.records import envelope, raw, record

ROOT = Path(__file__).parents[2]
TOOL = ROOT / ".venv-tools/bin/schemathesis"
#: Left out: a cursor that nobody gave fits the document and is refused all the same, which one check would not have.
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,unsupported_method,ignored_auth"
)


@pytest.mark.timeout(240)
def test_every_answer_is_in_the_document(workshop: Workshop, reader: Reader, tmp_path: Path) -> None:
    kinds = ("delivery", "open", "click", "bounce", "complaint", "something else")
    workshop.process(
        *(record(envelope(raw(f"e{n}", kind, recipient=f"a{n}@example.com"))) for n, kind in enumerate(kinds)),
        record("no envelope"),
    )
    command = [
        *(str(TOOL), "run", str(ROOT / "docs/openapi.json"), "--checks", CHECKS, "--phases", "coverage,fuzzing"),
        *("--max-examples", "6", "--seed", "1", "--no-color", "--warnings", "off", "--request-timeout", "20"),
        *("--suppress-health-check", "all", "-H", f"Authorization: Bearer {reader.token}"),
    ]

    with served(reader.module.handler) as address:
        done = subprocess.run([*command, "--url", address], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]


def test_the_door_decodes_as_an_http_api_does() -> None:
    assert decoded("/a%2Bb%25c%2f%C3%A4/%zz") == "/a+b%25c/ä/%zz"
