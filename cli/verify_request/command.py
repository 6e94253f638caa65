"""The command line: files in, one line and an exit code out."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cli.verify_request.diagnosis import diagnose
from mailfold.errors import SettingsError
from mailfold.providers import REGISTRY
from mailfold.request import Request, Source


class Unusable(Exception):
    """A file or argument cannot be used; the sentence says why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if the door would accept the request, 1 if it would not, 2 if it cannot be told."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        source = _source(arguments)
        request = _request(arguments, source)
        finding = diagnose(request, source, _secrets(arguments.secret_file, source.name))
    except (SettingsError, Unusable) as exc:
        print(f"{parser.prog}: {exc}", file=sys.stderr)
        return 2
    print(f"{'accepted' if finding.accepted else 'refused'}: {finding.words}")
    return 0 if finding.accepted else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mailfold verify-request",
        description="Say offline whether a captured request would be accepted, and if not, what is wrong with it. "
        "Prints no secret, no signature and no address.",
    )
    parser.add_argument("--provider", required=True, choices=sorted(REGISTRY))
    parser.add_argument("--source", help="the name of the source; the provider's name unless given")
    parser.add_argument("--headers", required=True, type=Path, help='lines of "Name: value", or a JSON object')
    parser.add_argument("--body", required=True, type=Path, help="the body, byte for byte")
    parser.add_argument("--secret-file", required=True, type=Path, help="one secret per line, or JSON as in the secret")
    parser.add_argument("--options", type=Path, help="the source's settings as a JSON object")
    parser.add_argument("--at", type=_moment, default=datetime.now(UTC), help="when it was received, ISO 8601; now")
    parser.add_argument("--certificate", type=Path, help="the PEM certificate that an SNS message names")
    return parser


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _source(arguments: argparse.Namespace) -> Source:
    options = _json(arguments.options) if arguments.options else {}
    if not isinstance(options, dict):
        raise Unusable(f"{arguments.options} holds no JSON object")
    source = Source(name=arguments.source or arguments.provider, provider=arguments.provider, options=options)
    check = REGISTRY[source.provider].check
    if check:
        check(source)
    return source


def _request(arguments: argparse.Namespace, source: Source) -> Request:
    return Request(
        source_name=source.name,
        method="POST",
        headers=_headers(arguments.headers),
        body=_bytes(arguments.body),
        received_at=arguments.at,
        certificate=_text(arguments.certificate) if arguments.certificate else "",
    )


def _headers(path: Path) -> dict[str, str]:
    text = _text(path)
    if text.lstrip().startswith("{"):
        named = _json(path)
        return {str(name).lower(): str(value) for name, value in named.items()}
    lines = [line for line in text.splitlines() if line.strip() and " HTTP/" not in line]
    pairs = [line.partition(":") for line in lines]
    if not all(colon for _, colon, _ in pairs):
        raise Unusable(f'{path} has a line that is not "Name: value"')
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _secrets(path: Path, source: str) -> list[str]:
    text = _text(path)
    if "-----BEGIN" in text and not text.lstrip().startswith(("[", "{")):
        return [text]
    if not text.lstrip().startswith(("[", "{")):
        secrets: Any = [line for line in text.splitlines() if line]
    else:
        parsed = _json(path)
        secrets = parsed.get(source) if isinstance(parsed, dict) else parsed
    if not isinstance(secrets, list) or not secrets or not all(isinstance(item, str) and item for item in secrets):
        raise Unusable(f"{path} holds no list of secrets for {source}")
    return secrets


def _json(path: Path) -> Any:
    try:
        return json.loads(_bytes(path))
    except ValueError:
        raise Unusable(f"{path} is not JSON") from None


def _text(path: Path) -> str:
    try:
        return _bytes(path).decode()
    except ValueError:
        raise Unusable(f"{path} is not text in UTF-8") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise Unusable(f"{path} cannot be read: {exc.strerror}") from None


if __name__ == "__main__":
    sys.exit(main())
