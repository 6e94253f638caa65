"""What a secret of each provider looks like."""

import base64

import pytest

from cli.forms import FORMS, HORIZON_HOURS, LONGEST_HORIZON_HOURS, fault_of, horizon_hours
from mailfold.providers import REGISTRY
from mailfold.providers.mailersend import PUBLIC_TEST_SECRET
from samples import sampler
from samples.standardwebhooks import make_key_pair


@pytest.mark.parametrize("provider", sorted(REGISTRY))
def test_a_genuine_secret_has_no_fault(provider: str) -> None:
    assert fault_of(provider, sampler(provider).make_keys().secret) is None


def test_both_kinds_of_standard_webhooks_keys_are_known() -> None:
    assert fault_of("standardwebhooks", make_key_pair().secret) is None


@pytest.mark.parametrize(
    ("provider", "secret", "fault"),
    [
        ("sesmetric", "s3cr3t7", "is shorter than 8 characters"),
        ("sesmetric", "long enough \n", "has spaces or line ends around it"),
        ("sesmetric", "long\x00enough", "holds line ends or control characters"),
        ("sesmetric", "CHANGE_ME", "is a placeholder"),
        ("sesmetric", "<your secret>", "is a placeholder"),
        ("brevo", "basic:mailfold:password", "is a placeholder"),
        ("brevo", "mailfold:long-password", "is no credential: it must begin with basic:, bearer: or header:"),
        ("brevo", "basic:mailfold", "is incomplete: it must read basic:user:password"),
        ("postmark", "header:X-Key:", "is incomplete: it must read header:Name:value"),
        ("sparkpost", "bearer:abc", "is shorter than 8 characters"),
        ("sendgrid", "SG.an-api-key", "is no public key of SendGrid's signed event webhook, nor a credential"),
        ("sendgrid", sampler("postal").make_keys().secret, "is no public key of SendGrid's signed event webhook"),
        ("postal", sampler("sendgrid").make_keys().secret, "is no RSA public key"),
        ("resend", "re_123456789", "does not begin with whsec_"),
        ("resend", "whsec_AAAA", "has no base64 key behind whsec_"),
        ("resend", "whsec_not!base64", "has no base64 key behind whsec_"),
        ("standardwebhooks", "whsk_" + base64.b64encode(bytes(32)).decode(), "does not begin with whsec_ or whpk_"),
        ("mailersend", PUBLIC_TEST_SECRET, "is the public test secret of MailerSend's documents"),
        ("ses", "my-topic", "is not the ARN of an SNS topic"),
    ],
)
def test_what_cannot_be_right_is_told_without_quoting_it(provider: str, secret: str, fault: str) -> None:
    told = fault_of(provider, secret)

    assert told is not None
    assert told.startswith(fault)
    assert secret not in told


def test_the_tables_name_only_providers_that_there_are() -> None:
    assert FORMS.keys() | HORIZON_HOURS.keys() <= REGISTRY.keys()


def test_whoever_is_not_listed_is_waited_for_longest() -> None:
    assert horizon_hours("generic") == LONGEST_HORIZON_HOURS == max(LONGEST_HORIZON_HOURS, *HORIZON_HOURS.values())
