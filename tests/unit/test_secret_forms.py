"""What a secret of each provider must look like, and what stands on a page in the place of one."""

import base64
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from mailfold.providers import REGISTRY
from mailfold.providers.base import LONGEST_HORIZON_HOURS
from mailfold.providers.mailersend import PUBLIC_TEST_SECRET
from mailfold.secret_forms import PUBLIC_VECTOR, SHORTEST_KEY_BYTES, fault_of, shared_key
from samples import sampler
from samples.standardwebhooks import make_key_pair

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Providers whose secret is a key of any text.
SHARED = sorted(name for name, provider in REGISTRY.items() if provider.secret_form is shared_key)
#: Keys that vendors print in the tests of their own libraries: as long, and as random, as real ones.
ISSUED = {
    "mandrill": "ntynTMaFpM_octE5R1DKAw",
    "mailersend": "yXdTVu1YewsKiuN2bcILlFHsljmR9kaU",
    "mailgun": "key-3ax6xnjp29jd6fds4gc373sgvjxteol0",
}


def fault(provider: str, secret: str) -> str | None:
    return fault_of(secret, REGISTRY[provider].secret_form)


@pytest.mark.parametrize("provider", sorted(REGISTRY))
def test_a_genuine_secret_has_no_fault(provider: str) -> None:
    assert fault(provider, sampler(provider).make_keys().secret) is None


@pytest.mark.parametrize(("provider", "secret"), ISSUED.items())
def test_what_a_provider_issues_is_long_enough(provider: str, secret: str) -> None:
    assert fault(provider, secret) is None


def test_both_kinds_of_standard_webhooks_keys_are_known() -> None:
    assert fault("standardwebhooks", make_key_pair().secret) is None


def test_a_key_of_sixteen_bytes_is_enough_and_none_shorter() -> None:
    for _ in range(200):
        key = secrets.token_hex(SHORTEST_KEY_BYTES // 2)

        assert [fault(name, key) for name in SHARED] == [None] * len(SHARED)
        assert {fault(name, key[:-1]) for name in SHARED} == {"is shorter than 16 bytes"}


def test_the_line_end_of_a_pem_file_is_no_fault() -> None:
    der = sampler("postal").make_keys().secret
    lines = "\n".join(der[start : start + 64] for start in range(0, len(der), 64))

    assert fault("postal", f"-----BEGIN PUBLIC KEY-----\n{lines}\n-----END PUBLIC KEY-----\n") is None
    assert fault("postal", lines) is None


@pytest.mark.parametrize(
    ("provider", "secret", "told"),
    [
        ("sesmetric", "s3cr3t7", "is shorter than 16 bytes"),
        ("sesmetric", "q8", "is shorter than 16 bytes"),
        ("sesmetric", "abababababababababab", "repeats the same few characters"),
        ("sesmetric", "long enough to be a key \n", "has spaces or line ends around it"),
        ("sesmetric", "long\x00enough-for-a-key", "holds line ends or control characters"),
        ("sesmetric", "CHANGE_ME", "is a placeholder"),
        ("sesmetric", "<the key that the console shows>", "is a placeholder"),
        ("sesmetric", '{"sesmetric": ["0f8fad5bd9cb469fa165"]}', "is a placeholder"),
        ("brevo", "basic:mailfold:password", "is a placeholder"),
        ("brevo", "mailfold:k8Jq2-long-enough", "is no credential: it must begin with basic:, bearer: or header:"),
        ("brevo", "basic:mailfold", "is incomplete: it must read basic:user:password"),
        ("brevo", "basic:mailfold-production:x7Q", "is shorter than 8 bytes"),
        ("postmark", "header:X-Key:", "is incomplete: it must read header:Name:value"),
        ("postmark", "header:X-Very-Long-Name-Of-A-Header:x7Q", "is shorter than 8 bytes"),
        ("sparkpost", "bearer:abc", "is shorter than 8 bytes"),
        ("sendgrid", "SG.an-api-key-of-it", "is no public key of SendGrid's signed event webhook, nor a credential"),
        ("sendgrid", sampler("postal").make_keys().secret, "is no public key of SendGrid's signed event webhook"),
        ("sendgrid", "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----", "has BEGIN and END lines"),
        ("postal", sampler("sendgrid").make_keys().secret, "is no RSA public key"),
        ("resend", "re_123456789", "does not begin with whsec_"),
        ("resend", "whsec_AAAA", "has no base64 key behind whsec_"),
        ("resend", "whsec_not!base64", "has no base64 key behind whsec_"),
        ("resend", "whsec_" + base64.b64encode(b"15 bytes of key").decode(), "has no base64 key behind whsec_"),
        ("resend", "whsec_" + base64.b64encode(b"\0" * 31 + b"\1").decode(), "repeats the same few characters"),
        ("standardwebhooks", "whsk_" + base64.b64encode(bytes(range(32))).decode(), "does not begin with whsec_ or"),
        ("standardwebhooks", "whpk_" + base64.b64encode(bytes(range(31))).decode(), "has no base64 key behind whpk_"),
        ("resend", PUBLIC_VECTOR, "is the public test secret of Standard Webhooks' specification"),
        ("mailersend", PUBLIC_TEST_SECRET, "is the public test secret of MailerSend's documents"),
        ("ses", "an-own-topic", "is not the ARN of an SNS topic"),
        ("ses", "arn:aws:sns:eu-west-1:123456789012:ses-events", "is a placeholder"),
    ],
)
def test_what_cannot_be_right_is_told_without_quoting_it(provider: str, secret: str, told: str) -> None:
    found = fault(provider, secret)

    assert found is not None
    assert found.startswith(told)
    assert secret not in found


@pytest.mark.parametrize(
    "value",
    [
        *("the-signing-secret", "the-shared-secret", "the-signing-key", "the-webhook-key", "the-api-key"),
        *("basic:mailfold:the-password", "bearer:the-token", "header:X-Mailfold-Key:the-value"),
        *("your-signing-secret", "YOUR_SIGNING_SECRET_HERE", "yourWebhookSecret", "my-webhook-signing-key"),
        *("replace-me-with-the-secret", "changeme-changeme-changeme", "todo: put the signing key here"),
        *("<signing-secret-of-mailgun>", "{{ signing_secret }}", "${MAILGUN_SIGNING_KEY}", "$MAILGUN_SIGNING_KEY"),
        *("%SIGNING_SECRET%", "[the key from the console]", "$(cat signing-secret.txt)"),
        *("xxxxxxxxxxxxxxxxxxxxxxxx", "XXXX-XXXX-XXXX-XXXX", "........................"),
        *("MFkwEwYHKoZIzj0CAQYIKo…", "whsec_…", "whsec_MfKQ9r8GKYqrTwjU...", "…", "******************"),
        *("whsec_yourSigningSecret", "example-signing-secret-1", "test-secret-test-secret", "webhook signing secret"),
        *("new", "old", "basic:mailfold:new", "sample-key-for-testing", "mailfold-webhook-secret"),
        *("arn:aws:sns:eu-west-1:111122223333:ses-events", "arn:aws:sns:us-east-1:123456789012:feedback"),
    ],
)
def test_a_value_that_stands_for_a_secret_is_a_placeholder(value: str) -> None:
    assert {fault(provider, value) for provider in REGISTRY} == {"is a placeholder"}


def test_no_random_secret_is_taken_for_a_placeholder() -> None:
    rng = Random(11)
    blobs = [rng.randbytes(16) for _ in range(2_000)]
    made = [text for blob in blobs for text in (blob.hex(), base64.urlsafe_b64encode(blob).decode().rstrip("="))]
    made += [f"my-{text}" for text in made] + [f"the-{text}" for text in made]

    assert [secret for secret in made if fault_of(secret, lambda _: None)] == []


#: What looks like a secret: by how it begins, in a URL, in quotes as one of a list, or by its words.
PRINTED = (
    re.compile(r"\b(?:(?:basic|header):[^\s`\"']*|bearer:[^\s`\"']+|whsec_[^\s`\"',)]*|whpk_[^\s`\"',)]*)"),
    re.compile(r"(?<![\w+/])(?:MFkw|MII)[\w+/=…]*"),
    re.compile(r"https?://[^\s:/@`\"']+:([^\s@/`\"']+)@"),
    re.compile(r"\[(\"[^\]]*\")\]"),
    re.compile(r"\b(?:the|your)-(?:\w+-)*(?:secret|key|password|token|value)\b"),
    re.compile(r"arn:aws[\w-]*:sns:[\w-]+:\d{12}:[\w.-]+"),
)
PREFIX_ALONE = {"basic:", "bearer:", "header:", "whsec_", "whpk_"}


def printed(text: str) -> Iterator[str]:
    for pattern in PRINTED:
        for found in pattern.finditer(text):
            value = found.group(found.lastindex or 0)
            if value.startswith('"'):
                # No secret has a space in it; words of another list on a page may.
                yield from re.findall(r'"([^"\s]+)"', value)
            elif value not in PREFIX_ALONE:
                yield value


def test_no_value_that_a_page_prints_is_taken_for_a_secret() -> None:
    values = {(page.name, value) for page in PAGES for value in printed(page.read_text())}

    assert len(values) >= 10
    taken = {(page, value) for page, value in values if None in {fault(provider, value) for provider in REGISTRY}}
    assert taken == set()


@pytest.mark.parametrize("provider", sorted(REGISTRY))
def test_the_page_of_a_provider_waits_as_long_as_the_command(provider: str) -> None:
    page = (ROOT / f"docs/providers/{provider}.md").read_text()
    hours = REGISTRY[provider].horizon_hours

    assert 0 < hours <= LONGEST_HORIZON_HOURS
    finish = next(
        line for line in page.splitlines() if line.startswith("bin/mailfold secrets rotate") and "--finish" in line
    )
    assert re.search(rf"# {hours} hours? after the switch", finish)
