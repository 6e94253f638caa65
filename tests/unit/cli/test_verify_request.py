"""verify-request: each fault is found and named for every provider, and nothing that must not be told is printed."""

import base64
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.verify_request import command as verify_request
from mailfold import providers
from mailfold.providers import REGISTRY
from samples import Keys, sampler, signed

ROOT = Path(__file__).resolve().parents[3]
NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
STAMPED = sorted(name for name in REGISTRY if hasattr(getattr(providers, name), "TOLERANCE_S"))
#: Providers whose signature covers the bytes of the body, so that writing them again breaks it.
BYTES_SIGNED = ["generic", "mailersend", "mailtrap", "mailwebhook", "postal", "resend", "sendgrid", "sesmetric"]
IN_HEADERS = sorted(REGISTRY.keys() - {"mailgun", "unisender"})

every = pytest.mark.parametrize("name", sorted(REGISTRY))


class Capture:
    """A genuine request as files, to be spoilt and diagnosed."""

    def __init__(self, name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.sampler = sampler(name)
        self.name = name
        self.keys: Keys = self.sampler.make_keys()
        self.secrets = [self.keys.secret]
        self.options: Mapping[str, Any] = self.sampler.OPTIONS
        samples = [dict(sample) for sample in self.sampler.SAMPLES.values()]
        self.body, self.headers = signed(self.sampler, self.sampler.body(samples[: self.sampler.BATCH]), self.keys, NOW)
        self.certificate: str = getattr(self.sampler, "certificate", lambda keys: "")(self.keys)
        self._folder = folder
        self._capsys = capsys

    def diagnose(self, *, at: datetime = NOW) -> tuple[int, str]:
        """Write the files, run the command, and look at all that it printed."""
        parts: dict[str, bytes] = {
            "headers": "\n".join(f"{name}: {value}" for name, value in self.headers.items()).encode(),
            "body": self.body,
            "secret-file": json.dumps(self.secrets).encode(),
            "options": json.dumps(self.options).encode(),
            "certificate": self.certificate.encode(),
        }
        arguments = ["--provider", self.name, "--source", "main", "--at", at.isoformat()]
        for part, content in parts.items():
            (self._folder / part).write_bytes(content)
            arguments += [f"--{part}", str(self._folder / part)]
        status = verify_request.main(arguments)
        printed = self._capsys.readouterr()
        self._check_silence(printed.out + printed.err)
        return status, printed.out

    def _check_silence(self, printed: str) -> None:
        told = [*self.secrets, self.keys.secret, self.keys.signer, "example.com", "@"]
        told += [value for name, value in self.headers.items() if "sign" in name.lower() or "auth" in name.lower()]
        assert [secret for secret in told if secret and secret in printed] == []


@pytest.fixture
def capture(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Capture:
    return Capture(name, tmp_path, capsys)


@every
def test_a_genuine_request_is_accepted_with_all_its_events(capture: Capture, name: str) -> None:
    status, words = capture.diagnose()

    number = min(capture.sampler.BATCH, len(capture.sampler.SAMPLES))
    assert status == 0
    assert re.fullmatch(rf"accepted: verified \([\w-]+\); {number} events?\n", words)


@pytest.mark.parametrize("name", IN_HEADERS)
def test_a_header_that_is_missing_is_named(capture: Capture, name: str) -> None:
    harmless = ("content-type", "trace-id", "batch-id", "idempotency-key")
    capture.headers = {key: value for key, value in capture.headers.items() if key.lower().endswith(harmless)}

    status, words = capture.diagnose()

    assert status == 1
    assert words.startswith("refused: no such header, or an empty one: ")


@pytest.mark.parametrize("name", STAMPED)
@pytest.mark.parametrize("direction", [1, -1], ids=["late", "early"])
def test_a_stale_stamp_is_measured(capture: Capture, name: str, direction: int) -> None:
    tolerance_s = getattr(providers, name).TOLERANCE_S

    status, words = capture.diagnose(at=NOW + direction * timedelta(seconds=tolerance_s + 77))

    age = "older" if direction > 0 else "newer"
    assert status == 1
    assert words == (
        f"refused: stale: the stamp is {tolerance_s + 77} s {age} than the request, and {tolerance_s} s are allowed\n"
    )


@pytest.mark.parametrize("name", sorted(REGISTRY.keys() - {"ses"}))
def test_a_wrong_key_is_told_from_everything_else(capture: Capture, name: str) -> None:
    capture.secrets = [capture.sampler.make_keys().secret, capture.sampler.make_keys().secret]

    status, words = capture.diagnose()

    assert status == 1
    assert words.startswith("refused: wrong key, or another body: none of 2 secrets matches")


@pytest.mark.parametrize("name", ["resend", "mailgun", "sendgrid"])
def test_a_wrong_key_is_not_taken_for_a_stale_stamp(capture: Capture, name: str) -> None:
    capture.secrets = [capture.sampler.make_keys().secret]

    assert "wrong key" in capture.diagnose(at=NOW + timedelta(days=9))[1]


REWRITINGS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "CR LF added": (lambda body: body + b"\r\n", "it verifies without the line end"),
    "LF added": (lambda body: body + b"\n", "it verifies without the line end"),
    "base64 left on": (base64.b64encode, "it verifies decoded from base64"),
    "byte order mark": (lambda body: b"\xef\xbb\xbf" + body, "it verifies without its byte order mark"),
    "compact": (lambda body: json.dumps(json.loads(body), separators=(",", ":")).encode(), "it verifies as JSON"),
    "indented": (lambda body: json.dumps(json.loads(body), indent=3).encode(), "it verifies as JSON"),
}


@pytest.mark.parametrize("name", sorted(set(BYTES_SIGNED) - {"sendgrid"}))
@pytest.mark.parametrize("how", REWRITINGS)
def test_a_body_that_was_written_again_is_recognised(capture: Capture, name: str, how: str) -> None:
    rewrite, expected = REWRITINGS[how]
    capture.body = rewrite(capture.body)

    status, words = capture.diagnose()

    assert status == 1
    assert words.startswith(f"refused: the body is not the one that was signed: {expected}")


@pytest.mark.parametrize("name", ["sendgrid"])
@pytest.mark.parametrize(
    ("rewrite", "expected"),
    [
        (lambda body: body.rstrip(), "with CR LF at its end"),
        (lambda body: body.replace(b"\r\n", b"\n"), "with CR LF for each LF"),
        (lambda body: json.dumps(json.loads(body)).encode(), "as JSON with spaces, one event per line with CR LF"),
    ],
    ids=["trimmed", "line ends", "parsed"],
)
def test_the_line_ends_that_sendgrid_signs_are_missed(
    capture: Capture, name: str, rewrite: Callable[[bytes], bytes], expected: str
) -> None:
    capture.body = rewrite(capture.body)

    assert capture.diagnose()[1].endswith(f"it verifies {expected}\n")


@pytest.mark.parametrize("name", ["mailersend"])
@pytest.mark.parametrize("text", ["é", "a/b", "é/🙂"])
@pytest.mark.parametrize("escaped", [True, False])
def test_characters_and_slashes_that_were_escaped_differently_are_recognised(
    capture: Capture, name: str, text: str, escaped: bool
) -> None:
    document = {"type": "webhook.test", "created_at": "2026-01-01T00:00:00Z", "note": text}
    body = json.dumps(document, ensure_ascii=escaped, separators=(",", ":")).replace("/", "\\/" if escaped else "/")
    capture.body, capture.headers = signed(capture.sampler, body.encode(), capture.keys, NOW)
    assert capture.diagnose()[0] == 0

    again = json.dumps(document, ensure_ascii=not escaped, indent=2).replace("/", "/" if escaped else "\\/")
    capture.body = again.encode()

    assert "it verifies as compact JSON" in capture.diagnose()[1]


@pytest.mark.parametrize("name", ["resend"])
def test_a_stale_stamp_does_not_hide_a_body_that_was_written_again(capture: Capture, name: str) -> None:
    capture.body += b"\n"

    assert "without the line end" in capture.diagnose(at=NOW + timedelta(days=1))[1]


@pytest.mark.parametrize("name", ["mailersend", "mailwebhook", "standardwebhooks", "postmark"])
def test_a_secret_that_was_pasted_with_its_line_end_is_recognised(capture: Capture, name: str) -> None:
    capture.secrets = [f" {capture.keys.secret}\n"]

    assert capture.diagnose() == (1, "refused: a secret has spaces or line ends around it\n")


@pytest.mark.parametrize("name", sorted(REGISTRY.keys() - {"ses"}))
def test_a_secret_that_the_door_does_not_use_is_told(capture: Capture, name: str) -> None:
    capture.secrets = ["the-signing-secret"]

    assert capture.diagnose() == (1, "refused: a secret is a placeholder\n")


@pytest.mark.parametrize("name", ["mailersend", "resend", "postmark"])
def test_the_secret_that_is_needed_and_not_used_is_told_beside_others(capture: Capture, name: str) -> None:
    capture.secrets = [f"{capture.keys.secret} ", capture.sampler.make_keys().secret]

    assert capture.diagnose() == (1, "refused: a secret has spaces or line ends around it\n")


@pytest.mark.parametrize("name", ["generic"])
def test_a_setting_that_does_not_fit_is_named(capture: Capture, name: str) -> None:
    capture.options = {**capture.options, "encoding": "base64"}

    assert capture.diagnose() == (1, "refused: it verifies without the setting `encoding`\n")


@pytest.mark.parametrize("name", ["ses"])
def test_what_only_sns_can_get_wrong_is_named(capture: Capture, name: str) -> None:
    def words() -> str:
        return capture.diagnose()[1]

    body, headers, secrets = capture.body, capture.headers, capture.secrets
    capture.secrets = ["arn:aws:sns:eu-west-1:999999999999:other"]
    assert "the topic is none of the 1" in words()
    capture.secrets = secrets
    capture.headers = {**headers, "x-amz-sns-message-id": "another"}
    assert "headers and body disagree" in words()
    capture.headers = headers
    capture.body = body.replace(b"https://sns.", b"https://sms.")
    assert "elsewhere" in words()
    capture.body = b"{}"
    assert "raw delivery" in words()
    capture.body, capture.options = body, {}
    assert "takes no requests" in words()


@pytest.mark.parametrize("name", ["ses"])
def test_without_the_certificate_it_says_where_it_lies(capture: Capture, name: str) -> None:
    capture.certificate = ""

    assert "give the one at https://sns.eu-west-1.amazonaws.com/" in capture.diagnose()[1]


@pytest.mark.parametrize("name", ["mailersend", "mailtrap", "resend"])
@pytest.mark.parametrize("body", [b"nonsense", b"5"])
def test_a_genuine_body_that_is_no_event_is_verified_but_refused(capture: Capture, name: str, body: bytes) -> None:
    capture.body, capture.headers = signed(capture.sampler, body, capture.keys, NOW)

    status, words = capture.diagnose()

    assert status == 1
    assert re.match(r"refused: verified \(hmac-sha256\), but answered 400: the body is ", words)


@pytest.mark.parametrize("name", ["mailwebhook"])
def test_a_genuine_request_without_its_key_is_verified_but_refused(capture: Capture, name: str) -> None:
    del capture.headers["X-Idempotency-Key"]

    assert "but answered 400: the idempotency key is missing" in capture.diagnose()[1]


@pytest.mark.parametrize("name", ["sendgrid"])
def test_an_event_that_would_be_set_aside_is_counted(capture: Capture, name: str) -> None:
    capture.body, capture.headers = signed(capture.sampler, b'[{"event":"open"},{"event":"open"}]', capture.keys, NOW)

    status, words = capture.diagnose()

    assert (status, words) == (
        0,
        "accepted: verified (ecdsa-p256-sha256); 2 events, of which 2 would be set aside: no email\n",
    )


@pytest.mark.parametrize("name", ["mandrill"])
def test_a_call_that_only_asks_is_accepted(capture: Capture, name: str) -> None:
    capture.body = b"mandrill_events=[]"

    assert capture.diagnose() == (
        0,
        "accepted: a call that only asks whether anybody is there: answered, and not read\n",
    )


def files(folder: Path, **contents: str) -> list[str]:
    arguments = ["--provider", "mailersend"]
    for name, content in {"headers": "", "body": "{}", "secret_file": "s3cret-k8Jq2w9Zr5Tn", **contents}.items():
        (folder / name).write_text(content)
        arguments += [f"--{name.replace('_', '-')}", str(folder / name)]
    return arguments


@pytest.mark.parametrize(
    ("secret_file", "matches"),
    [
        ("s3cret-k8Jq2w9Zr5Tn", True),
        ("\nother\ns3cret-k8Jq2w9Zr5Tn\n", True),
        ('["other","s3cret-k8Jq2w9Zr5Tn"]', True),
        ('{"mailersend":["s3cret-k8Jq2w9Zr5Tn"],"else":["x"]}', True),
        ('{"else":["s3cret-k8Jq2w9Zr5Tn"]}', None),
        ("[]", None),
        ("[5]", None),
        ("[", None),
        ("", None),
        ("other", False),
        ("short", False),
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_the_files_come_in_several_shapes(
    tmp_path: Path, secret_file: str, matches: bool | None, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    body = '{"type":"webhook.test","created_at":"2026-01-01T00:00:00Z"}'
    signature = sampler("mailersend").sign(body.encode(), Keys(secret="", signer="s3cret-k8Jq2w9Zr5Tn"), NOW)[
        "Signature"
    ]
    lines = f"POST /webhooks/mailersend HTTP/1.1\nSIGNATURE:  {signature} \n\n"
    headers = json.dumps({"Signature": signature}) if as_json else lines

    status = verify_request.main(files(tmp_path, headers=headers, body=body, secret_file=secret_file))

    assert status == {True: 0, False: 1, None: 2}[matches]
    assert "s3cret-k8Jq2w9Zr5Tn" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ({"headers": "no colon"}, 'has a line that is not "Name: value"'),
        ({"headers": "{"}, "is not JSON"),
        ({"options": "[]"}, "holds no JSON object"),
        ({"secret_file": "[5]"}, "holds no list of secrets"),
    ],
    ids=str,
)
def test_a_file_that_cannot_be_used_is_named(
    tmp_path: Path, contents: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify_request.main(files(tmp_path, **contents)) == 2
    assert words in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = files(tmp_path)
    (tmp_path / "body").unlink()

    assert verify_request.main(arguments) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--at", "soon"], ["--provider", "nobody"], ["--what"]], ids=str)
def test_a_wrong_argument_is_a_usage_error(
    tmp_path: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        verify_request.main([*files(tmp_path), *wrong])

    assert exit_.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_the_documents_example_prints_what_it_says(tmp_path: Path) -> None:
    page = (ROOT / "docs/verify-request.md").read_text()
    examples = re.findall(r"```sh\n(.*?)```\n\n```\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 3

    for commands, expected in examples:
        script = commands.replace("bin/mailfold", f'"{ROOT}/bin/mailfold"')
        ran = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (ran.stdout, ran.stderr) == (expected, "")
        assert ran.returncode == (0 if expected.startswith("accepted") else 1)


def test_the_wrapper_knows_its_commands() -> None:
    ran = subprocess.run([ROOT / "bin/mailfold", "frobnicate"], capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert "verify-request" in ran.stderr
