"""The door does not believe a value that a page prints, nor a key that can be guessed; it asks for another attempt."""

import logging

import pytest

from mailfold.providers import REGISTRY
from samples import Keys
from tests.support.endpoint import Endpoint

#: Providers of which a forger who knows the secret can sign: the secret itself is the key.
SYMMETRIC = sorted(REGISTRY.keys() - {"sendgrid", "postal", "ses"})
CREDENTIALS = {"brevo", "mailjet", "postmark", "sparkpost"}
STANDARD = {"resend", "standardwebhooks"}
#: What a page printed once, a short one, and one with a line end: for each kind of secret.
WORTHLESS = {
    "credential": ["basic:mailfold:the-password", "basic:mailfold:pw", "basic:mailfold:0f8fad5bd9cb469f\n"],
    "standard": ["whsec_dGhlLWtleQ==", "whsec_c2hvcnQ=", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    "shared": ["the-signing-secret", "q8Zr5Tn", "0f8fad5bd9cb469f\n"],
}


def kind(provider: str) -> str:
    return "credential" if provider in CREDENTIALS else "standard" if provider in STANDARD else "shared"


def post_forged(provider: str, secret: str, *held: str) -> tuple[Endpoint, int]:
    keys = Keys(secret=secret, signer=secret.removeprefix("basic:"))
    endpoint = Endpoint(provider, keys=keys, secrets=[secret, *held])
    samples = [dict(sample) for sample in endpoint.sampler.SAMPLES.values()][: endpoint.sampler.BATCH]
    return endpoint, endpoint.post_signed(endpoint.sampler.body(samples)).status


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("provider", SYMMETRIC)
def test_a_request_under_a_worthless_secret_is_put_off(
    provider: str, which: int, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = WORTHLESS[kind(provider)][which]
    with caplog.at_level(logging.DEBUG):
        endpoint, status = post_forged(provider, secret)

    assert status == REGISTRY[provider].busy_status
    assert endpoint.queued == []
    assert secret not in caplog.text + "".join(capsys.readouterr())


@pytest.mark.parametrize("provider", SYMMETRIC)
def test_beside_a_secret_of_worth_it_is_refused(provider: str) -> None:
    genuine = Endpoint(provider).sampler.make_keys().secret

    endpoint, status = post_forged(provider, WORTHLESS[kind(provider)][0], genuine)

    assert status == 401
    assert endpoint.queued == []


@pytest.mark.parametrize(
    ("provider", "secret"),
    [
        ("sendgrid", "MFkwEwYHKoZIzj0CAQYIKo…"),
        ("sendgrid", "basic:mailfold:the-password"),
        ("postal", "MIIBIjANBgkq…"),
        ("ses", "arn:aws:sns:eu-west-1:111122223333:ses-events"),
    ],
)
def test_a_source_with_nothing_but_a_sample_is_put_off(provider: str, secret: str) -> None:
    genuine = Endpoint(provider)
    body, headers = genuine.sign(genuine.sampler.body([dict(next(iter(genuine.sampler.SAMPLES.values())))]))

    answered = Endpoint(provider, secrets=[secret]).post(body, headers)

    assert answered.status == REGISTRY[provider].busy_status
